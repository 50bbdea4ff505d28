"""A page of lines to scroll and to search, and the line where the words to search for are written."""

from collections.abc import Sequence

from textual import events
from textual.widgets import Input

from tui.text.lines import Line
from tui.text.search import Search
from tui.widgets.lines import Lines
from tui.widgets.messages import SearchChanged


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


class SearchBar(Input):
    """One line that appears when it is opened. Enter keeps the words, escape forgets them."""

    def __init__(self, placeholder: str = "search this transcript", *, id: str | None = None) -> None:
        super().__init__(id=id, placeholder=placeholder, compact=True, select_on_focus=True)
        self.cursor_blink = False
        self.display = False

    def open(self) -> None:
        """Appear and take the keys."""
        self.display = True
        self.focus()

    def close(self) -> None:
        """Give the keys back and disappear."""
        self.blur()
        self.display = False

    def on_input_changed(self, event: Input.Changed) -> None:
        if self.display:
            self.post_message(SearchChanged(event.value))

    def on_key(self, event: events.Key) -> None:
        if not self.display:
            # Written before the bar was gone; it is meant for the screen.
            event.stop()
            event.prevent_default()
            self.app.simulate_key(event.key)
        elif event.key in ("enter", "escape"):
            event.stop()
            event.prevent_default()
            self.close()
            self.post_message(SearchChanged(self.value if event.key == "enter" else "", done=True))
