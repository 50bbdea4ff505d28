"""A page of lines to scroll and to search, and the line where the words to search for are written."""

import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from textual import events
from textual.message import Message
from textual.widgets import Input

from tui.text.lines import Line, Tint, mark
from tui.widgets.lines import Lines


@dataclass
class SearchChanged(Message):
    """The reader writes what to search for; an empty term ends the search."""

    term: str


class TextSearch:
    """Words that are looked for in lines, and the match that the reader is at."""

    def __init__(self) -> None:
        self.term = ""
        self._here = 0
        self._marks: dict[int, list[tuple[int, int, int]]] = {}
        """By line, the numbers of matches, with where the characters begin and end that belong to them."""
        self._lines: list[int] = []
        """The line in which each match begins."""

    def update(self, lines: Sequence[Line], margin: int) -> None:
        """Look again, in these lines, without regard to case; what is in the margin is not searched.

        A line break stands for a space or for nothing, as wrapping drops spaces.
        """
        self._marks = {}
        first: dict[int, int] = {}
        texts = ["".join(text for text, _ in line)[margin:] for line in lines] if self.term else []
        starts = [0]
        for text in texts:
            starts.append(starts[-1] + len(text) + 1)
        words = re.findall(r" +|[^ ]", self.term)
        parts = [r"[ \n]+" if word.isspace() else re.escape(word) for word in words]
        matches = re.finditer(r"\n?".join(parts), "\n".join(texts), re.IGNORECASE) if texts else ()
        line = 0
        for number, match in enumerate(matches):
            while starts[line + 1] <= match.start():
                line += 1
            last = line
            while last < len(texts) and starts[last] < match.end():
                start = max(match.start() - starts[last], 0)
                end = min(match.end() - starts[last], len(texts[last]))
                if start < end:
                    self._marks.setdefault(last, []).append((number, start + margin, end + margin))
                    first.setdefault(number, last)
                last += 1
        self._lines = list(first.values())
        self._here = min(self._here, max(len(self._lines) - 1, 0))

    def start(self, line: int) -> None:
        """Be at the first match from this line on, going round at the end."""
        self._here = next((number for number, place in enumerate(self._lines) if place >= line), 0)

    def step(self, step: int) -> None:
        """Be at the next match, or at the one before, going round at the end."""
        self._here = (self._here + step) % max(len(self._lines), 1)

    @property
    def line(self) -> int | None:
        """The line of the match that the reader is at."""
        return self._lines[self._here] if self._lines else None

    @property
    def count(self) -> str:
        """How often it was found, for people; empty when nothing is searched."""
        if not self.term:
            return ""
        return f"{self._here + 1} of {len(self._lines)}" if self._lines else "not found"

    def look_of(self, number: int, line: Line) -> Line:
        """A line with its matches marked."""
        for match, start, end in self._marks.get(number, ()):
            line = mark(line, start, end, Tint.FOUND_HERE if match == self._here else Tint.FOUND)
        return line


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
            self.post_message(SearchChanged(self.value if event.key == "enter" else ""))
