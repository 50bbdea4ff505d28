"""Numbers under one another: a label, and a column for each arm."""

from collections.abc import Sequence


def columns(rows: Sequence[tuple[str, Sequence[str]]]) -> list[str]:
    """A line for each row of a label and its cells, all rows having as many: labels left, cells right."""
    width = max(len(label) for label, _ in rows)
    widths = [max(map(len, cells)) for cells in zip(*(cells for _, cells in rows), strict=True)]
    return [
        "  ".join([label.ljust(width), *(cell.rjust(w) for cell, w in zip(cells, widths, strict=True))])
        for label, cells in rows
    ]
