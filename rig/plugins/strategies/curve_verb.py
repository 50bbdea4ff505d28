"""`rig compare --curve`: where success breaks over the levels of an option."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from rig.cli.compare import ComparisonQuestion, DecisionOptions, decided_json
from rig.cli.output import print_json, say, terminal_width
from rig.compare.compare import compare
from rig.core.errors import RigError, counted
from rig.plugins.strategies.curves import Curve, LevelResult
from rig.show.compare import curve_line
from rig.show.table import Row, columns
from rig.show.texts import UNKNOWN, percent
from rig.store import Runs


def curve(*, question: ComparisonQuestion, deciding: DecisionOptions, as_json: bool, curve: bool) -> None:
    """Print success level by level, and a sentence for each file."""
    if deciding.limit(question.loss) is not None:
        raise RigError("--curve decides nothing; leave out --fail-if-…")
    with Runs.open(question.runs, question.graded_by) as stored:
        noise = question.noise_in(stored)
        # Curves of several files differ in the file as well as in the level.
        options = replace(question.options, across_settings=True)
        comparison = compare(stored, question.addresses, options, noise)
    curves = [trend for trend in comparison.curves if isinstance(trend, Curve)]
    if as_json:
        print_json({**comparison.as_json(), **decided_json({})})
    elif curves:
        say(curves_text(curves, terminal_width()))
    else:
        raise RigError("these arms are no levels of one option; make some with `rig run FILE --sweep`")


def curves_text(curves: Sequence[Curve], width: int | None = None) -> str:
    """Return each curve level by level, with what was found."""
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
