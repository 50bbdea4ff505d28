"""Curves of success over the levels of a dial, as small pictures in text, and as tables."""

from collections.abc import Sequence

from rig.compare.curves import Curve, LevelResult
from rig.displays.signs import LEVELS
from rig.displays.table import Row, columns, one_line
from rig.displays.texts import UNKNOWN, percent
from rig.errors import counted
from rig.events import EvidenceMoved


def sparkline(rates: Sequence[float | None]) -> str:
    """A cell for each level, from nothing right to all; a space for one that was not played."""
    levels = str(LEVELS)
    return "".join(" " if rate is None else levels[round((len(levels) - 1) * rate)] for rate in rates)


def evidence_line(event: EvidenceMoved) -> str:
    """What moved, in a line; of a curve with its picture."""
    rates = event.evidence.get("curve")
    return f"{sparkline(rates)}  {event.text}" if rates else event.text


def curve_line(curve: Curve) -> str:
    """A curve in a line: its picture, what was turned, and where success breaks."""
    return f"{sparkline(curve.rates)}  {titled(curve)}: {curve.text}"


def titled(curve: Curve) -> str:
    """What the curve is of."""
    return one_line(f"{curve.name} over {curve.option.replace('_', '-')}")


def curves_text(curves: Sequence[Curve], width: int | None = None) -> str:
    """Each curve level by level, and what is found of it."""
    size, alpha = counted(100 * curves[0].size, "point"), 100 * curves[0].alpha
    lines = [
        f"a break is a loss of {size} or more against the lowest level; what follows, over all levels and"
        f" files together, is wrong with a chance of at most {alpha:g}%, however often one looks"
    ]
    for curve in curves:
        lowest, *others = curve.levels
        header = ["success", "finished", f"points below {lowest.level}", ""]
        rows = [
            Row(curve.option.replace("_", "-"), header),
            Row(lowest.level, [percent(lowest.success.value), str(lowest.finished), "", ""]),
            *(Row(level.level, _cells(level)) for level in others),
        ]
        lines += ["", *map(str.rstrip, columns(rows, width)), curve_line(curve)]
    return "\n".join(lines)


def _cells(level: LevelResult) -> list[str]:
    if level.loss is None:
        return [UNKNOWN, str(level.finished), "", ""]
    low, high = (f"{round(100 * end, 1) + 0.0:.1f}" for end in (level.loss.low, level.loss.high))
    finding = {"shown": "loses", "excluded": "holds", None: "open"}[level.loss.found]
    return [percent(level.success.value), str(level.finished), f"{low} to {high}", finding]
