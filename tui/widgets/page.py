"""A page of lines to scroll and to search."""

from collections.abc import Sequence

from tui.text.lines import Line
from tui.text.search import Search
from tui.widgets.lines import Lines


class Page(Lines):
    """Lines whose matches with what is searched for are marked when they are painted."""

    def __init__(self, *, id: str | None = None) -> None:
        super().__init__(id=id)
        self.search = Search()

    def show_page(self, lines: Sequence[Line]) -> None:
        """Make these the lines, and look for the words in them."""
        self.show(lines)
        self.search.update(lines, 0)
        self.refresh()

    def search_for(self, term: str) -> None:
        """Mark what matches, and go to the first match from what is in sight on; no term ends the search."""
        self.search.term = term
        self.search.update(self.lines, 0)
        self.search.start(self.scroll_offset.y)
        self._go_there()

    def go_to_match(self, step: int) -> None:
        """Go to the next match or the one before."""
        self.search.step(step)
        self._go_there()

    def scroll_pages(self, pages: int) -> None:
        """Scroll by as much as is in sight, but for two lines."""
        self.jump_to(max(self.scroll_offset.y + pages * max(self.size.height - 2, 1), 0))

    def look_of(self, number: int) -> Line:
        return self.search.look_of(number, super().look_of(number))

    def _go_there(self) -> None:
        line = self.search.line
        if line is not None:
            self.bring_into_sight(max(line - 2, 0), min(line + 2, len(self.lines) - 1))
        self.refresh()
