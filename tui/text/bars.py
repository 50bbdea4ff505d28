"""How many of what, as a bar of cells: the glyph of each kind, in its colour."""

from collections.abc import Sequence

from rig.displays.signs import FULL, PARTS, TRACK
from tui.text.lines import Line, Span, Tint


def shares(counts: Sequence[int], width: int) -> list[int]:
    """`width` cells divided among the counts by their share; anything that is there at all gets a cell.

    With fewer cells than kinds, the first kinds get them.
    """
    total = sum(counts)
    if not total or width <= 0:
        return [0] * len(counts)
    exact = [count * width / total for count in counts]
    cells = [max(int(share), 1 if count else 0) for share, count in zip(exact, counts, strict=True)]
    while sum(cells) > width:
        fullest = max(range(len(cells)), key=lambda place: (cells[place] - exact[place], -place))
        cells[fullest] -= 1
    while sum(cells) < width:
        emptiest = max(range(len(cells)), key=lambda place: (exact[place] - cells[place], -place))
        cells[emptiest] += 1
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
