"""Lines of tinted text, which the view is made of before any style is known.

A span is a text and the name of its tint; the theme decides what a tint looks like. Texts of models, users
and files are made inert: nothing in them moves the cursor or hides. Markup is not a concern here: the view
paints segments and never parses markup. Streamed text is wrapped and tinted as JSON incrementally, each
character once.
"""

import re
import unicodedata
from collections.abc import Iterable, Sequence
from enum import StrEnum
from itertools import accumulate, zip_longest
from typing import TypeAlias

from rich.cells import cell_len, get_character_cell_size, set_cell_size

from rig.show.signs import ELLIPSIS, FULL, LEVELS, PARTS, SIDE, TRACK


class Tint(StrEnum):
    """The kind of a piece of text, for which a theme has a style."""

    PLAIN = "plain"
    MUTED = "muted"
    STRONG = "strong"
    TITLE = "title"
    USER = "user"
    CALL = "call"
    KEY = "key"
    STRING = "string"
    NUMBER = "number"
    SUCCESS = "success"
    FAILURE = "failure"
    ERROR = "error"
    RUNNING = "running"
    ALARM = "alarm"
    BAR = "bar"
    TRACK = "track"
    RULE = "rule"
    CURSOR = "cursor"
    CHOSEN = "chosen"
    FOUND = "found"
    FOUND_HERE = "found-here"
    BRAND = "brand"
    HEAT0 = "heat0"
    HEAT1 = "heat1"
    HEAT2 = "heat2"
    HEAT3 = "heat3"
    HEAT4 = "heat4"
    HEAT5 = "heat5"


HEAT = (Tint.HEAT0, Tint.HEAT1, Tint.HEAT2, Tint.HEAT3, Tint.HEAT4, Tint.HEAT5)
"""The tints of a heat map, from nothing right to everything right."""

Span: TypeAlias = tuple[str, Tint]
Line: TypeAlias = tuple[Span, ...]

BLANK: Line = ()

READABLE = 110
"""The width in cells beyond which a line of text is no longer pleasant to read."""
WORDS_FROM = 44
"""The width in cells from which labels are words; below it they are a sign or a letter."""


def width_of(line: Iterable[Span]) -> int:
    """Return the width of a line in cells."""
    return sum(cell_len(text) for text, _ in line)


def fit(line: Sequence[Span], width: int) -> Line:
    """Cut `line` to at most `width` cells; a line that is cut ends in an ellipsis."""
    if width_of(line) <= width:
        return tuple(line)
    cut = str(ELLIPSIS)
    if width <= len(cut):
        return ((cut[: max(width, 0)], Tint.MUTED),)
    kept: list[Span] = []
    left = width - len(cut)
    for text, tint in line:
        cells = cell_len(text)
        if cells > left:
            kept.append((set_cell_size(text, left), tint))
            break
        kept.append((text, tint))
        left -= cells
    return (*kept, (cut, Tint.MUTED))


def without_start(line: Line, cells: int) -> Line:
    """Return a line without its first cells; of a wide character that is cut in two, a space is left."""
    kept: list[Span] = []
    for text, tint in line:
        left = 0
        while cells > 0 and left < len(text):
            cells -= get_character_cell_size(text[left])
            left += 1
        kept.append((" " * -cells + text[left:], tint))
        cells = max(cells, 0)
    return tuple(kept)


def spread(left: Sequence[Span], right: Sequence[Span], width: int) -> Line:
    """Return `left` and `right` at the two ends of `width` cells; `left` is cut if both do not fit."""
    right = fit(right, width)
    room = width - width_of(right)
    left = fit(left, max(room - 1, 0))
    gap = width - width_of(left) - width_of(right)
    return (*left, (" " * gap, Tint.PLAIN), *right)


def pad(line: Sequence[Span], width: int) -> Line:
    """Cut or pad `line` to exactly `width` cells."""
    fitted = fit(line, width)
    return (*fitted, (" " * (width - width_of(fitted)), Tint.PLAIN))


def labelled(label: Sequence[Span], margin: int, lines: Iterable[Line]) -> list[Line]:
    """Return lines with a label in the margin of the first."""
    gap, empty = " " * (margin - width_of(label)), (" " * margin, Tint.PLAIN)
    head = (*label, *([(gap, Tint.PLAIN)] if gap else []))
    return [(*((empty,) if number else head), *line) for number, line in enumerate(lines)]


def mark(line: Line, start: int, end: int, tint: Tint) -> Line:
    """Return `line` with the characters from `start` to `end` in another tint."""
    marked: list[Span] = []
    place = 0
    for text, own in line:
        first, last = (min(max(cut - place, 0), len(text)) for cut in (start, end))
        parts = ((text[:first], own), (text[first:last], tint), (text[last:], own))
        marked += [part for part in parts if part[0]]
        place += len(text)
    return tuple(marked)


NARROWEST = 26
"""The fewest cells of a column beside others."""


def columns_in_sight(columns: int, here: int, width: int) -> tuple[range, int]:
    """Return which columns fit side by side, including the one at `here`, and the width of each in cells."""
    fitting = max(min(width // NARROWEST, columns), 1)
    first = min(max(here - fitting // 2, 0), columns - fitting)
    return range(first, first + fitting), (width - (fitting - 1)) // fitting


def side_by_side(columns: Sequence[Sequence[Line]], room: int) -> list[Line]:
    """Join columns of `room` cells each, with a rule between them."""
    lines: list[Line] = []
    for row in zip_longest(*columns, fillvalue=BLANK):
        joined: list[Span] = []
        for line in row:
            joined += [(str(SIDE), Tint.TRACK)] if joined else []
            joined += [*line, (" " * max(room - width_of(line), 0), Tint.PLAIN)]
        lines.append(tuple(joined))
    return lines


_HIDDEN = {"Cc", "Cf", "Cs", "Co", "Cn", "Zl", "Zp"}


class _Escapes(dict[int, str]):
    """A translation table that computes the escape of each character once."""

    def __missing__(self, code: int) -> str:
        text = chr(code)
        # Variation selectors are marks, but terminals disagree on the width of what they select.
        is_selector = 0xFE00 <= code <= 0xFE0F or 0xE0100 <= code <= 0xE01EF
        if is_selector or unicodedata.category(text) in _HIDDEN:
            text = text.encode("unicode_escape").decode()
        self[code] = text
        return text


_ESCAPES = _Escapes({0x0A: "\n", 0x1B: "\\e"})


def inert(text: str) -> str:
    r"""Escape control, format and unassigned characters visibly; only `\n` stays as it is.

    Joiners and variation selectors are escaped as well, so that the width rig computes is the width the
    terminal uses.
    """
    return text if text.isascii() and text.isprintable() else text.translate(_ESCAPES)


def inert_line(text: str) -> str:
    r"""Escape a text like `inert` and make it one line: a line break becomes a visible `\n` too."""
    return inert(text).replace("\n", "\\n")


def shares(counts: Sequence[int], width: int) -> list[int]:
    """Divide `width` cells among the counts by their share; every count that is not 0 gets a cell.

    If there are fewer cells than counts, those with the smallest shares get none.
    """
    total = sum(counts)
    if not total or width <= 0:
        return [0] * len(counts)
    exact = [count * width / total for count in counts]
    cells = [max(int(share), 1 if count else 0) for share, count in zip(exact, counts, strict=True)]
    step = 1 if sum(cells) < width else -1
    while sum(cells) != width:
        # The emptiest gets one, or the fullest loses one; in a tie, the first.
        farthest = max(range(len(cells)), key=lambda place: step * (exact[place] - cells[place]))
        cells[farthest] += step
    return cells


def bar(kinds: Sequence[tuple[Span, int]], width: int) -> Line:
    """Return a bar of the kinds side by side, each as wide as its share of all."""
    cells = shares([count for _, count in kinds], width)
    return tuple((sign * size, tint) for ((sign, tint), _), size in zip(kinds, cells, strict=True) if size)


def progress(done: int, total: int, width: int) -> Line:
    """Return a bar of how much is done, to an eighth of a cell; it can be read without colour, too."""
    parts = str(PARTS)
    size = len(parts) + 1
    full, eighths = divmod(min(width * size * done // total, width * size) if total else 0, size)
    part = parts[eighths - 1] if eighths else ""
    return ((str(FULL) * full + part, Tint.BAR), (str(TRACK) * (width - full - len(part)), Tint.TRACK))


def curve(outcomes: Sequence[bool], width: int) -> str:
    """Return the course of the share of successes so far, in at most `width` cells of eight levels."""
    levels, sums = str(LEVELS), [*accumulate(outcomes)]
    cells = min(width, len(sums))
    places = [(cell + 1) * len(sums) // cells - 1 for cell in range(cells)]
    return "".join(levels[round((len(levels) - 1) * sums[place] / (place + 1))] for place in places)


_CHUNK = 64


class Flow:
    """A greedy word wrap to `width` cells, which is fed span by span.

    A line breaks after a space if that leaves it at least a third full, else wherever it must; a wide
    character is never split. Texts may contain line breaks.
    """

    def __init__(self, width: int) -> None:
        self.width = max(width, 2)
        self._done: list[Line] = []
        self._last: list[Span] = []
        self._cells = 0

    @property
    def lines(self) -> list[Line]:
        """All lines so far; an empty flow has one empty line."""
        return [*self._done, tuple(self._last)]

    def feed(self, spans: Iterable[Span]) -> None:
        """Append text."""
        for text, tint in spans:
            for number, part in enumerate(text.split("\n")):
                if number:
                    self._finish(self._last, [])
                for start in range(0, len(part), _CHUNK):
                    self._append(part[start : start + _CHUNK], tint)

    def _append(self, text: str, tint: Tint) -> None:
        if self._last and self._last[-1][1] is tint:
            self._last[-1] = (self._last[-1][0] + text, tint)
        else:
            self._last.append((text, tint))
        self._cells += cell_len(text)
        while self._cells > self.width:
            head, tail = _break(self._last, self.width)
            self._finish(head, tail)

    def _finish(self, line: list[Span], rest: list[Span]) -> None:
        self._done.append(tuple(line))
        self._last = rest
        self._cells = sum(cell_len(text) for text, _ in rest)


def _break(line: list[Span], width: int) -> tuple[list[Span], list[Span]]:
    """Split a line that is too long into what stays and what goes to the next line."""
    cells = 0
    soft: tuple[int, int] | None = None
    hard = (len(line), 0)
    for number, (text, _) in enumerate(line):
        for index, character in enumerate(text):
            size = 1 if character < "\x7f" else get_character_cell_size(character)
            if cells + size > width:
                hard = (number, index)
                if character == " ":
                    soft = (number, index + 1)
                break
            cells += size
            if character == " " and cells > width // 3:
                soft = (number, index + 1)
        else:
            continue
        break
    number, index = soft or hard
    if number >= len(line):
        return line, []
    text, tint = line[number]
    head = [*line[:number], (text[:index].rstrip(" ") if soft else text[:index], tint)]
    tail = [(text[index:], tint), *line[number + 1 :]]
    return [span for span in head if span[0]], [span for span in tail if span[0]]


def wrap(spans: Iterable[Span], width: int) -> list[Line]:
    """Wrap a complete text to `width` cells."""
    flow = Flow(width)
    flow.feed(spans)
    return flow.lines


_WORD = re.compile(r"[A-Za-z0-9+.\-]+")
_STRING_PART = re.compile(r'[^"\\]+')


class JsonTint:
    """An incremental splitter of JSON into tinted spans. Text that is not JSON is never an error.

    A string right after `{` or `,` inside an object counts as a key; everything else is a value.
    """

    def __init__(self) -> None:
        self._inside: list[str] = []
        self._string: Tint | None = None
        self._escaped = False
        self._key_next = False

    def feed(self, text: str) -> list[Span]:
        """Return the tinted spans of the next piece of text."""
        spans: list[Span] = []
        position = 0
        while position < len(text):
            in_string = self._string is not None
            span = self._string_part(text, position) if in_string else self._token(text, position)
            spans.append(span)
            position += len(span[0])
        return spans

    def _string_part(self, text: str, position: int) -> Span:
        tint = self._string or Tint.STRING
        part = None if self._escaped else _STRING_PART.match(text, position)
        if part:
            return part.group(), tint
        if not self._escaped and text[position] == '"':
            self._string = None
        self._escaped = not self._escaped and text[position] == "\\"
        return text[position], tint

    def _token(self, text: str, position: int) -> Span:
        if word := _WORD.match(text, position):
            return word.group(), Tint.NUMBER
        token = text[position]
        if token == '"':
            self._string = Tint.KEY if self._key_next else Tint.STRING
            self._key_next = False
            return token, self._string
        if token in "{[":
            self._inside.append(token)
        elif token in "}]" and self._inside:
            self._inside.pop()
        if token in "{[,":
            self._key_next = self._inside[-1:] == ["{"]
        elif token in ":}]":
            self._key_next = False
        return token, Tint.MUTED


def tint_json(text: str) -> list[Span]:
    """Return the tinted spans of a complete text."""
    return JsonTint().feed(text)
