"""The widgets that show text: tinted lines, painted without markup, and only where they changed.

Pages of such lines can be scrolled and searched, with a line to write the search term in.
"""

import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

from rich.segment import Segment
from rich.style import Style
from textual import events
from textual.cache import LRUCache
from textual.geometry import Region, Size
from textual.keys import KEY_NAME_REPLACEMENTS
from textual.message import Message
from textual.scroll_view import ScrollView
from textual.strip import Strip
from textual.widgets import Input

from tui.text.lines import Line, Tint, mark, width_of


@dataclass
class Rearranged(Message):
    """A message that a widget has a new size and needs its content laid out again."""


@dataclass
class RowPicked(Message):
    """A message that the reader chose a row of a list; `opens` says that they want to open it."""

    number: int
    opens: bool = False


_KEPT = 256
"""The strips that a widget caches, more than a high terminal has lines."""


class Lines(ScrollView, can_focus=False):
    """A column of lines. Each tint is a component class `tint--NAME`, which the theme gives a style."""

    COMPONENT_CLASSES: ClassVar[set[str]] = {f"tint--{tint}" for tint in Tint}
    ALLOW_SELECT = False

    def __init__(self, *, id: str | None = None) -> None:
        super().__init__(id=id)
        self.version: tuple[object, ...] = ()
        """What the lines were last made of, for subclasses that check `is_new`."""
        self._lines: list[Line] = []
        self._styles: dict[Tint, Style] = {}
        self._base: Style | None = None
        self._strips: LRUCache[tuple[Line, int], Strip] = LRUCache(_KEPT)

    @property
    def lines(self) -> Sequence[Line]:
        """The current lines."""
        return self._lines

    def is_new(self, *parts: object) -> bool:
        """Return whether the width or the `parts` changed since the last call; never if the width is 0."""
        version = (self.size.width, *parts)
        if not self.size.width or version == self.version:
            return False
        self.version = version
        return True

    def show(self, lines: Sequence[Line]) -> None:
        """Show these lines, and paint only those that differ."""
        if len(lines) != len(self._lines):
            self.replace(0, lines)
            return
        for number, line in enumerate(lines):
            self.show_line(number, line)

    def show_line(self, number: int, line: Line) -> None:
        """Replace the line at `number`, and paint it if it differs."""
        if self._lines[number] != line:
            self._lines[number] = line
            self.refresh_line(number)

    def replace(self, start: int, lines: Sequence[Line]) -> None:
        """Replace the lines from `start` on by these; those before stay as they are."""
        before = len(self._lines)
        same = 0
        for old, new in zip(self._lines[start:], lines, strict=False):
            if old != new:
                break
            same += 1
        self._lines[start:] = lines
        start += same
        after = len(self._lines)
        if after != before:
            # Assigning `virtual_size` would lay out and paint the whole screen for every line of a stream.
            self.set_reactive(ScrollView.virtual_size, Size(self.size.width, after))
            self._scroll_update(self.virtual_size)
        self.refresh_lines(start, max(before, after) - start)

    @property
    def at_end(self) -> bool:
        """Whether the last line is visible."""
        return self.scroll_offset.y >= self.max_scroll_y

    def jump_to(self, line: int) -> None:
        """Scroll so that `line` is the first visible one, if enough lines follow it."""
        self.scroll_to(y=line, animate=False, immediate=True, force=True)

    def jump_to_end(self) -> None:
        """Scroll to the last line."""
        self.jump_to(max(len(self._lines) - self.size.height, 0))

    def scroll_pages(self, pages: int) -> None:
        """Scroll by pages, which overlap by two lines."""
        self.jump_to(max(self.scroll_offset.y + pages * max(self.size.height - 2, 1), 0))

    def render_line(self, y: int) -> Strip:
        number = y + self.scroll_offset.y
        line = self.look_of(number) if number < len(self._lines) else ()
        width = self.size.width
        painted = self._strips.get((line, width))
        if painted is None:
            painted = self._strips[line, width] = self._strip(line, width)
        return painted

    def render_lines(self, crop: Region) -> list[Strip]:
        # As Textual does it, without what these widgets do not have: borders, padding, tints. Lines that only
        # scroll are then the same strips again, and a strip caches what was made of it.
        background, filters = self.background_colors[1], self.get_line_filters()
        first, last = crop.column_span
        width = self.region.width
        strips = []
        for y in crop.line_range:
            strip = self.render_line(y).adjust_cell_length(width, self._base)
            for line_filter in filters:
                strip = strip.apply_filter(line_filter, background)
            strips.append(strip if (first, last) == (0, width) else strip.crop(first, last))
        return strips

    def _strip(self, line: Line, width: int) -> Strip:
        if self._base is None:
            self._base = self.rich_style
        segments = [Segment(text, self._style(tint)) for text, tint in line]
        length = width_of(line)
        if length > width:
            return Strip(segments, length).crop(0, width)
        if length < width:
            segments.append(Segment(" " * (width - length), self._base))
        return Strip(segments, width)

    def look_of(self, number: int) -> Line:
        """Return a line as it is painted; a subclass may add marks to it."""
        return self._lines[number]

    def bring_into_sight(self, first: int, last: int) -> None:
        """Scroll just enough to show the lines from `first` to `last`, or at least the first of them."""
        top, height = self.scroll_offset.y, self.size.height
        if first < top or last - first >= height:
            self.jump_to(first)
        elif last >= top + height:
            self.jump_to(last - height + 1)

    def _style(self, tint: Tint) -> Style:
        style = self._styles.get(tint)
        if style is None:
            style = self._styles[tint] = self.get_component_rich_style(f"tint--{tint}")
        return style

    def notify_style_update(self) -> None:
        super().notify_style_update()
        self._styles.clear()
        self._strips.clear()
        self._base = None

    def on_resize(self, event: events.Resize) -> None:
        self.post_message(Rearranged())

    def line_at(self, event: events.Click) -> int:
        """Return the number of the clicked line, which may be beyond the last."""
        return event.y + self.scroll_offset.y


class Rows(Lines):
    """Lines that the reader chooses by a click."""

    def on_click(self, event: events.Click) -> None:
        if self.line_at(event) < len(self.lines):
            self.post_message(RowPicked(self.line_at(event)))


@dataclass
class SearchChanged(Message):
    """A message that the search term changed; an empty term ends the search."""

    term: str


class Page(Lines):
    """Lines that can be searched; matches are marked when they are painted."""

    def __init__(self, *, id: str | None = None) -> None:
        super().__init__(id=id)
        self.term = ""
        """The search term, empty if nothing is searched."""
        self.searched_from = 0
        """The line where the search began; the first match is the next one from there."""
        self._here = 0
        self._marks: dict[int, list[tuple[int, int, int]]] = {}
        """For each line, its matches as (number, start, end) with the positions of characters."""
        self._matches: list[int] = []
        """The line in which each match begins."""

    def show_page(self, lines: Sequence[Line]) -> None:
        """Show these lines, and search them for the term."""
        self.show(lines)
        self.mark()
        self.refresh()

    def mark(self) -> None:
        """Search the current lines for the term."""
        self.find(self.lines, 0)

    def find(self, lines: Sequence[Line], margin: int) -> None:
        """Search these lines for the term, ignoring case and the first `margin` characters of each.

        A line break matches a space or nothing, as wrapping drops spaces.
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
        self._matches = list(first.values())
        self._here = min(self._here, max(len(self._matches) - 1, 0))

    @property
    def hits(self) -> str:
        """The current match and their number in words; empty if nothing is searched."""
        if not self.term:
            return ""
        return f"{self._here + 1} of {len(self._matches)}" if self._matches else "not found"

    def search_for(self, term: str) -> None:
        """Mark the matches of a term; an empty term ends the search."""
        self.term = term
        self.mark()
        self.refresh()

    def go_to_match(self, step: int) -> None:
        """Go `step` matches on, wrapping around; with 0, to the first one from where the search began."""
        if step:
            self._here = (self._here + step) % max(len(self._matches), 1)
        else:
            ahead = (n for n, line in enumerate(self._matches) if line >= self.searched_from)
            self._here = next(ahead, 0)
        if self._matches:
            line = self._matches[self._here]
            self.bring_into_sight(max(line - 2, 0), line + 2)
        self.refresh()

    def look_of(self, number: int) -> Line:
        line = super().look_of(number)
        for match, start, end in self._marks.get(number, ()):
            line = mark(line, start, end, Tint.FOUND_HERE if match == self._here else Tint.FOUND)
        return line


class Bar(Input):
    """A line to write in, which is hidden until it is opened."""

    def __init__(self, *, id: str | None = None, **options: Any) -> None:
        super().__init__(id=id, compact=True, **options)
        self.cursor_blink = False
        self.display = False

    def check_consume_key(self, key: str, character: str | None) -> bool:
        # Textual knows no character of the keys that it gives other names, such as `slash`.
        return key in KEY_NAME_REPLACEMENTS.values() or super().check_consume_key(key, character)

    def open(self) -> None:
        """Show the line, and give it the focus."""
        self.display = True
        self.focus()

    def close(self) -> None:
        """Give up the focus, and hide the line."""
        self.blur()
        self.display = False


class SearchBar(Bar):
    """A line for a search term. Enter keeps the term, and escape clears it."""

    def __init__(self, placeholder: str = "search this transcript", *, id: str | None = None) -> None:
        super().__init__(id=id, placeholder=placeholder, select_on_focus=True)

    def on_input_changed(self, event: Input.Changed) -> None:
        if self.display:
            self.post_message(SearchChanged(event.value))

    def on_key(self, event: events.Key) -> None:
        if not self.display:
            # A key that was pressed before the bar was hidden; it is meant for the screen.
            event.stop()
            event.prevent_default()
            self.app.simulate_key(event.key)
        elif event.key in ("enter", "escape"):
            event.stop()
            event.prevent_default()
            self.close()
            self.post_message(SearchChanged(self.value if event.key == "enter" else ""))
