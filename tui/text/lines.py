"""Lines of tinted text: what the view is made of before any style is known.

A span is a text and the name of its tint; the theme decides what a tint looks like. Texts of models, users
and files are made inert: nothing in them moves the cursor or hides. Markup is not a concern here: the view
paints segments and never parses markup.
"""

import unicodedata
from collections.abc import Iterable, Sequence
from enum import StrEnum
from itertools import accumulate, zip_longest
from typing import TypeAlias

from rich.cells import cell_len, set_cell_size

from rig.displays.signs import ELLIPSIS, FULL, LEVELS, PARTS, SIDE, TRACK


class Tint(StrEnum):
    """What a piece of text is, so that a theme can say how it looks."""

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
"""From nothing right to all of it."""

Span: TypeAlias = tuple[str, Tint]
Line: TypeAlias = tuple[Span, ...]

BLANK: Line = ()

READABLE = 110
"""Cells beyond which a line of text is no longer pleasant to read."""
WORDS_FROM = 44
"""Cells from which labels are words; in less, a sign or a letter has to do."""


def width_of(line: Iterable[Span]) -> int:
    """Cells a line takes."""
    return sum(cell_len(text) for text, _ in line)


def fit(line: Sequence[Span], width: int) -> Line:
    """`line` in at most `width` cells; what does not fit ends in an ellipsis."""
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


def spread(left: Sequence[Span], right: Sequence[Span], width: int) -> Line:
    """`left` and `right` at the two ends of `width` cells; `left` is cut when both do not fit."""
    right = fit(right, width)
    room = width - width_of(right)
    left = fit(left, max(room - 1, 0))
    gap = width - width_of(left) - width_of(right)
    return (*left, (" " * gap, Tint.PLAIN), *right)


def pad(line: Sequence[Span], width: int) -> Line:
    """`line` in exactly `width` cells."""
    fitted = fit(line, width)
    return (*fitted, (" " * (width - width_of(fitted)), Tint.PLAIN))


def labelled(label: Sequence[Span], margin: int, lines: Iterable[Line]) -> list[Line]:
    """Lines with a label in the margin of the first."""
    gap, empty = " " * (margin - width_of(label)), (" " * margin, Tint.PLAIN)
    head = (*label, *([(gap, Tint.PLAIN)] if gap else []))
    return [(*((empty,) if number else head), *line) for number, line in enumerate(lines)]


def mark(line: Line, start: int, end: int, tint: Tint) -> Line:
    """`line` with the characters from `start` to `end` in another tint."""
    marked: list[Span] = []
    place = 0
    for text, own in line:
        first, last = (min(max(cut - place, 0), len(text)) for cut in (start, end))
        parts = ((text[:first], own), (text[first:last], tint), (text[last:], own))
        marked += [part for part in parts if part[0]]
        place += len(text)
    return tuple(marked)


NARROWEST = 26
"""Cells of a column beside others."""


def columns_in_sight(columns: int, here: int, width: int) -> tuple[range, int]:
    """Which of so many columns fit side by side, that of the reader among them, and the cells of each."""
    fitting = max(min(width // NARROWEST, columns), 1)
    first = min(max(here - fitting // 2, 0), columns - fitting)
    return range(first, first + fitting), (width - (fitting - 1)) // fitting


def side_by_side(columns: Sequence[Sequence[Line]], room: int) -> list[Line]:
    """Columns of `room` cells each with a rule between them."""
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
    """A translation table that decides about each character once."""

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
    r"""`text` with control, format and unassigned characters as visible escapes; only `\n` stays itself.

    Joiners and variation selectors are escaped as well, so that the width rig computes is the width the
    terminal uses.
    """
    return text if text.isascii() and text.isprintable() else text.translate(_ESCAPES)


def inert_line(text: str) -> str:
    r"""`inert` for places that hold a single line: a line break becomes a visible `\n` too."""
    return inert(text).replace("\n", "\\n")


def shares(counts: Sequence[int], width: int) -> list[int]:
    """`width` cells divided among the counts by their share; anything that is there at all gets a cell.

    With fewer cells than kinds, the first kinds get them.
    """
    total = sum(counts)
    if not total or width <= 0:
        return [0] * len(counts)
    exact = [count * width / total for count in counts]
    cells = [max(int(share), 1 if count else 0) for share, count in zip(exact, counts, strict=True)]
    step = 1 if sum(cells) < width else -1
    while sum(cells) != width:
        # The emptiest gets one, or the fullest loses one; of several, the first.
        farthest = max(range(len(cells)), key=lambda place: step * (exact[place] - cells[place]))
        cells[farthest] += step
    return cells


def bar(kinds: Sequence[tuple[Span, int]], width: int) -> Line:
    """The kinds side by side, each as wide as its share of all."""
    cells = shares([count for _, count in kinds], width)
    return tuple((sign * size, tint) for ((sign, tint), _), size in zip(kinds, cells, strict=True) if size)


def progress(done: int, total: int, width: int) -> Line:
    """How much of something is done, to an eighth of a cell. You can tell without colour, too."""
    parts = str(PARTS)
    size = len(parts) + 1
    full, eighths = divmod(min(width * size * done // total, width * size) if total else 0, size)
    part = parts[eighths - 1] if eighths else ""
    return ((str(FULL) * full + part, Tint.BAR), (str(TRACK) * (width - full - len(part)), Tint.TRACK))


def curve(outcomes: Sequence[bool], width: int) -> str:
    """The share of successes so far as it went, in at most `width` cells of eight levels."""
    levels, sums = str(LEVELS), [*accumulate(outcomes)]
    cells = min(width, len(sums))
    places = [(cell + 1) * len(sums) // cells - 1 for cell in range(cells)]
    return "".join(levels[round((len(levels) - 1) * sums[place] / (place + 1))] for place in places)
