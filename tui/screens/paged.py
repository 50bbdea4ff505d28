"""Screens with one page to scroll and to search."""

from textual.screen import ScreenResultType

from tui.screens.base import RigScreen
from tui.widgets.messages import SearchChanged
from tui.widgets.page import Page, SearchBar


class PagedScreen(RigScreen[ScreenResultType]):
    """Has a `Page` with the id `page` and a `SearchBar`."""

    @property
    def page(self) -> Page:
        """The widget with the page."""
        return self.query_one("#page", Page)

    def action_scroll(self, pages: int) -> None:
        self.page.scroll_pages(pages)

    def action_scroll_to(self, end: int) -> None:
        if end:
            self.page.jump_to_end()
        else:
            self.page.jump_to(0)

    def action_search(self) -> None:
        self.query_one(SearchBar).open()

    def action_match(self, step: int) -> None:
        self.page.go_to_match(step)
        self.show_state()

    def action_back(self) -> None:
        """End the search; without one, leave."""
        if self.page.search.term:
            self.query_one(SearchBar).value = ""
            self.page.search_for("")
            self.show_state()
        else:
            self.leave()

    def on_search_changed(self, message: SearchChanged) -> None:
        self.page.begin_search()
        self.page.search_for(message.term)
        self.page.go_to_match(0)
        self.show_state()
