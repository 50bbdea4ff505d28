"""Numbers under one another: a label, and a column for each arm."""

from collections.abc import Sequence

_GAP = 2


def columns(rows: Sequence[tuple[str, Sequence[str]]], width: int | None = None) -> list[str]:
    """A line for each row of a label and its cells, all rows having as many: labels left, cells right.

    The first row is the heading. Where a line would be longer than `width` cells, the columns are told in
    blocks under one another, each with the heading and the labels again; a column is never cut.
    """
    labels = max(len(label) for label, _ in rows)
    widths = [max(map(len, cells)) for cells in zip(*(cells for _, cells in rows), strict=True)]
    lines: list[str] = []
    for block in _blocks(widths, labels, width):
        lines += [""] if lines else []
        lines += [
            (" " * _GAP).join([label.ljust(labels), *(cells[n].rjust(widths[n]) for n in block)])
            for label, cells in rows
        ]
    return lines


def _blocks(widths: Sequence[int], labels: int, width: int | None) -> list[list[int]]:
    """The columns that stand beside one another, as many as fit, at least one."""
    blocks: list[list[int]] = [[]]
    used = labels
    for number, own in enumerate(widths):
        if width is not None and blocks[-1] and used + _GAP + own > width:
            blocks.append([])
            used = labels
        blocks[-1].append(number)
        used += _GAP + own
    return blocks
