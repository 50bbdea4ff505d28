"""A page of lines to scroll and to search, and the line where the words to search for are written."""

from collections.abc import Sequence
from typing import Any

from textual import events
from textual.widgets import Input

from tui.text.lines import Line
from tui.text.search import TextSearch
from tui.widgets.lines import Lines
from tui.widgets.messages import SearchChanged


class Page(Lines):
    """Lines whose matches with what is searched for are marked when they are painted."""

    def __init__(self, *, id: str | None = None) -> None:
        super().__init__(id=id)
        self.search = TextSearch()
        self._searched_from = 0

    def show_page(self, lines: Sequence[Line]) -> None:
        """Make these the lines, and look for the words in them."""
        self.show(lines)
        self.mark()
        self.refresh()

    def mark(self) -> None:
        """Look for the words in the lines as they are now."""
        self.search.update(self.lines, 0)

    def begin_search(self) -> None:
        """Matches are looked for from here on, however far writing the words leads away."""
        self._searched_from = self.scroll_offset.y

    def search_for(self, term: str) -> None:
        """Mark what matches; no term ends the search."""
        self.search.term = term
        self.mark()
        self.refresh()

    def go_to_match(self, step: int) -> None:
        """Go to the next match or the one before; with 0, to the first from where the search began."""
        if step:
            self.search.step(step)
        else:
            self.search.start(self._searched_from)
        line = self.search.line
        if line is not None:
            self.bring_into_sight(max(line - 2, 0), line + 2)
        self.refresh()

    def look_of(self, number: int) -> Line:
        return self.search.look_of(number, super().look_of(number))


class Bar(Input):
    """One line to write in, which appears when it is opened."""

    def __init__(self, *, id: str | None = None, **options: Any) -> None:
        super().__init__(id=id, compact=True, **options)
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


class SearchBar(Bar):
    """Enter keeps the words, escape forgets them."""

    def __init__(self, placeholder: str = "search this transcript", *, id: str | None = None) -> None:
        super().__init__(id=id, placeholder=placeholder, select_on_focus=True)

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
