"""Tables as text: columns of numbers, aligned cells, and Markdown."""

import re
import unicodedata
from collections.abc import Mapping, Sequence
from itertools import takewhile
from textwrap import wrap
from typing import NamedTuple

from rig.show.signs import DASH, ELLIPSIS
from rig.show.texts import printable

_GAP = 2
_LABEL = 26
"""The most characters of a label on a line if there is little room."""
_INTERVAL = re.compile(r"(\S+) \((\S+) to (\S+)\)")
_LAST_MARKS = (re.compile(r".*(?:[-/: ]|(?<!\d)\.)"), re.compile(".*_"))
"""Where a name may be cut: after `-`, `/`, `:`, a space or a dot (not a decimal point), or else after `_`."""
_MARKUP = "\\`*_[]<>|#~&!"


class Row(NamedTuple):
    """A label with a cell for each column. A `detail` is part of the row above it."""

    label: str
    cells: Sequence[str]
    detail: bool = False

    @property
    def title(self) -> str:
        """The label, indented if it is a detail."""
        return f"  {self.label}" if self.detail else self.label


def columns(rows: Sequence[Row], width: int | None = None) -> list[str]:
    """Return one line per row, labels left-aligned and cells right-aligned. All rows have as many cells.

    The first row is the heading. If a line would be longer than `width` cells, the columns go into blocks
    below one another, each with the heading and the labels again; a column is never cut.
    """
    return _side_by_side([[row.title, *row.cells] for row in rows], 1, width)


def fitted(rows: Sequence[Row], width: int | None = None) -> list[str]:
    """Like `columns`, but if the columns do not fit side by side, they first take less room.

    Headings lose their common beginnings, then their middles; intervals move below their rates, and long
    labels take several lines.
    """
    lines = columns(rows)
    if width is None or max(map(cell_width, lines)) <= width:
        return lines
    titles = [wrap(row.title, _LABEL) or [""] for row in rows]
    labels = max(len(part) for title in titles for part in title)
    room = (width - labels) // max(len(rows[0].cells), 1) - _GAP
    narrow: list[Row] = []
    for title, row in zip(titles, rows, strict=True):
        parts = [_INTERVAL.fullmatch(cell) for cell in row.cells]
        rates = [part[1] if part else cell for part, cell in zip(parts, row.cells, strict=True)]
        words = [f"{part[2]} to {part[3]}" if part else "" for part in parts]
        below = [text if len(text) <= room else text.replace(" to ", str(DASH)) for text in words]
        rates = ends(rates, room) if row is rows[0] else rates
        narrow += [Row(part, [""] * len(rates)) for part in title[:-1]]
        narrow.append(Row(title[-1], rates))
        narrow += [Row("", below)] if any(below) else []
    return columns(narrow, width)


def ends(names: Sequence[str], room: int) -> list[str]:
    """Shorten names to `room` characters: first by their common beginning, then by their middles."""
    return [middle(name, room) for name in distinct(names, room, str(ELLIPSIS))]


_LONG_NAME = 16
"""If a name is longer than this, names lose their common beginning."""


def short_names(names: Sequence[str], cut: str | None = None) -> list[str]:
    """Return the names, with `cut` (an ellipsis by default) for their common beginning if one is long."""
    return [*distinct(names, _LONG_NAME, str(ELLIPSIS) if cut is None else cut)]


def distinct(names: Sequence[str], room: int, cut: str) -> Sequence[str]:
    """Return the names, with `cut` for their common beginning if one of them is longer than `room`.

    The beginning is cut only after a separator.
    """
    if len(names) < 2 or max(map(len, names)) <= room:
        return names
    same = takewhile(lambda letters: len(set(letters)) == 1, zip(*names, strict=False))
    beginning = "".join(letters[0] for letters in same)
    alike = next(filter(None, (mark.match(beginning) for mark in _LAST_MARKS)), None)
    return [f"{cut}{name[alike.end() :]}" for name in names] if alike else names


def middle(text: str, room: int) -> str:
    """Shorten a text to `room` characters by its middle, as similar names differ at their ends."""
    cut = str(ELLIPSIS)
    if len(text) <= room:
        return text
    before = max(room - len(cut), 0) // 2
    after = max(room - len(cut) - before, 1)
    return f"{text[:before]}{cut}{text[-after:]}"


def cells(header: Sequence[str], rows: Sequence[Sequence[str]], width: int | None = None) -> list[str]:
    """Return a line for each row, with left-aligned cells, as wide as their widest.

    Columns that would make lines longer than `width` go below the others, with the first column again.
    """
    return [line.rstrip() for line in _side_by_side([header, *rows], len(header), width)]


def markdown(header: Sequence[str], rows: Sequence[Sequence[str]], texts: int = 1) -> str:
    """Return an aligned table in Markdown: the first `texts` columns to the left, the others to the right.

    Cells are Markdown already; `inert` escapes any other text.
    """
    widths = [max(3, width) for width in _widths([header, *rows])]
    ruler = ["-" * width if place < texts else f"{'-' * (width - 1)}:" for place, width in enumerate(widths)]
    return "\n".join(f"| {' | '.join(row)} |" for row in _aligned([header, ruler, *rows], texts))


def inert(text: str) -> str:
    """Escape a text so that Markdown shows it as it is, on one line."""
    return "".join(f"\\{character}" if character in _MARKUP else character for character in one_line(text))


def one_line(text: str) -> str:
    """Return a text on one line, with nothing in it that steers a terminal."""
    return printable(text).replace("\n", " ").replace("\t", " ")


def by_kind(label: str, counts: Sequence[Mapping[str, int]]) -> list[Row]:
    """Return a row of totals and a row for each kind in any column; no rows without a label."""
    if not label:
        return []
    kinds = sorted({kind for count in counts for kind in count})
    total = Row(label, [str(sum(count.values())) for count in counts])
    return [total, *(Row(kind, [str(count.get(kind, 0)) for count in counts], detail=True) for kind in kinds)]


def cell_width(text: str) -> int:
    """Return how many cells of a terminal a text takes: two for each wide character, as in Japanese."""
    if text.isascii():
        return len(text)
    marks = sum(unicodedata.combining(character) > 0 for character in text)
    return len(text) - marks + sum(unicodedata.east_asian_width(character) in "WF" for character in text)


def padded(text: str, width: int, *, is_number: bool = False) -> str:
    """Fill a text up to so many cells: a number to the right, any other to the left."""
    blank = " " * (width - cell_width(text))
    return f"{blank}{text}" if is_number else f"{text}{blank}"


def _widths(rows: Sequence[Sequence[str]]) -> list[int]:
    return [max(map(cell_width, column)) for column in zip(*rows, strict=True)]


def _aligned(rows: Sequence[Sequence[str]], texts: int) -> list[list[str]]:
    """Pad cells to the width of their columns: the first `texts` to the left, the others to the right."""
    widths = _widths(rows)
    return [[padded(cell, widths[n], is_number=n >= texts) for n, cell in enumerate(row)] for row in rows]


def _side_by_side(rows: Sequence[Sequence[str]], texts: int, width: int | None) -> list[str]:
    """Return a line for each row; columns that do not fit follow below, with the first column again."""
    aligned = _aligned([[one_line(cell) for cell in row] for row in rows], texts)
    label, *widths = map(cell_width, aligned[0])
    blocks: list[list[int]] = [[]]
    used = label
    for number, own in enumerate(widths, 1):
        if width is not None and blocks[-1] and used + _GAP + own > width:
            blocks.append([])
            used = label
        blocks[-1].append(number)
        used += _GAP + own
    lines: list[str] = []
    for block in blocks:
        lines += [""] if lines else []
        lines += [(" " * _GAP).join([row[0], *(row[number] for number in block)]) for row in aligned]
    return lines
