"""Lines of tinted text: what the view is made of before any style is known.

A span is a text and the name of its tint; the theme decides what a tint looks like. Texts are inert.
"""

from collections.abc import Iterable, Sequence
from enum import StrEnum
from typing import TypeAlias

from rich.cells import cell_len, set_cell_size

from rig.displays.signs import ELLIPSIS


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


Span: TypeAlias = tuple[str, Tint]
Line: TypeAlias = tuple[Span, ...]

BLANK: Line = ()


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


def join(parts: Iterable[Sequence[Span]], gap: str) -> Line:
    """The parts on one line with `gap` between them."""
    joined: list[Span] = []
    for part in parts:
        if joined:
            joined.append((gap, Tint.PLAIN))
        joined.extend(part)
    return tuple(joined)


def mark(line: Line, start: int, end: int, tint: Tint) -> Line:
    """`line` with the characters from `start` to `end` in another tint."""
    marked: list[Span] = []
    place = 0
    for text, own in line:
        cuts = [0, *(min(max(cut - place, 0), len(text)) for cut in (start, end)), len(text)]
        for part, width in zip(
            ((cuts[0], cuts[1]), (cuts[1], cuts[2]), (cuts[2], cuts[3])), (own, tint, own), strict=True
        ):
            if part[0] < part[1]:
                marked.append((text[slice(*part)], width))
        place += len(text)
    return tuple(marked)


def without_first(line: Line) -> Line:
    """`line` without its first character."""
    return ((line[0][0][1:], line[0][1]), *line[1:]) if line else line
