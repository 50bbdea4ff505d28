"""`rig compare --sequential`: whether arms lose as much as is asked, with tests that may be repeated."""

from __future__ import annotations

from rig.cli.compare import ComparisonQuestion, DecisionOptions, decided_json
from rig.cli.output import print_json, say
from rig.compare.verdict import Decision
from rig.core.errors import RigError, counted
from rig.plugins.strategies.looks import SequentialComparison, compare_sequentially
from rig.store import Runs


def sequential(
    *,
    question: ComparisonQuestion,
    deciding: DecisionOptions,
    as_json: bool,
    sequential: bool,
    in_suite: bool,
) -> Decision:
    """Print the evidence on each arm's loss, and return the exit code."""
    limit = deciding.limit(question.loss)
    tested = question.loss if limit is None else limit
    if not sequential:
        raise RigError("--in-suite is for --sequential; give both, or neither")
    if not tested:
        raise RigError("--sequential tests for a loss; give --fail-if-worse more than 0 points")
    with Runs.open(question.runs, question.graded_by) as stored:
        looks = compare_sequentially(
            stored, question.addresses, tested / 100, question.options, in_suite=in_suite
        )
    decisions: dict[str, Decision] = {}
    if limit is not None:
        decisions = {arm.arm: arm.decision for arm in looks.arms}
        decisions |= dict.fromkeys(looks.left_out, Decision.CANNOT_TELL)
    if as_json:
        print_json({**looks.as_json(), **decided_json(decisions)})
    else:
        say(looks_text(looks))
    size = f"at least {counted(limit or 0.0, 'point')}"
    return deciding.conclude(decisions, looks.baseline, size, as_json=as_json)


def looks_text(looks: SequentialComparison) -> str:
    """Return what was found about each arm, with the interval of its loss."""
    each_end = f"each end of an interval is wrong with a chance of at most {100 * looks.alpha:g}%"
    shared = f" for all {len(looks.arms)} arms together" if len(looks.arms) > 1 else ""
    lines = [
        f"baseline {looks.baseline}, graded by {looks.grader}",
        f"looking after every conversation costs nothing: {each_end}{shared}, however often one looks",
        *looks.notes,
        "",
    ]
    if looks.recommendation is not None:
        lines[:0] = [looks.recommendation.text(), ""]
    for arm in looks.arms:
        lines.append(f"{arm.arm}: {arm.judged.text}")
        lines += [f"  {arm.note}"] if arm.note else []
        if arm.suite:
            lines.append(f"  {arm.suite.bounds} in this suite")
        lines.append(f"  {arm.alike.bounds} in conversations like these")
    return "\n".join(lines)
