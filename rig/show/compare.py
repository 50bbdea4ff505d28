"""Comparisons in words: what a reader must know of one, what to do next, and curves as small pictures."""

from collections.abc import Sequence

from rig.compare.findings import Comparison
from rig.compare.trends import Trend
from rig.compare.verdict import VerdictKind
from rig.core.events import EvidenceMoved
from rig.core.metrics import UNCLEAR, Metric
from rig.show import summary
from rig.show.signs import LEVELS
from rig.show.summary import note_lines
from rig.show.table import one_line
from rig.show.texts import estimate

_MOST_NAMED = 3
"""If more arms than this differ from the baseline in the same thing, they are counted, not named."""


def notes(comparison: Comparison, *, origins: bool = True) -> list[str]:
    """Return what a reader must know about the arms and how they were compared, line by line.

    `origins` includes what their files were made from.
    """
    lines: list[str] = []
    differing = [arm for arm in comparison.arms if len(arm.factors) == 1]
    names = {arm.factors[0].name for arm in differing}
    if len(differing) > _MOST_NAMED and len(names) == 1:
        lines.append(f"{len(differing)} arms differ from the baseline in {names.pop()}")
    else:
        lines += [f"{arm.label} differs in {arm.factors[0]}" for arm in differing]
    lines += [f"{arm.label}: {arm.made_from}" for arm in comparison.arms if origins and arm.made_from]
    lines += note_lines((arm.label, arm.notes) for arm in comparison.arms)
    lines += [f"{label} is left out: {why}" for label, why in comparison.left_out.items()]
    lines += comparison.notes
    lines += summary.limit_notes({arm.label: arm.limits for arm in comparison.arms})
    for arm in comparison.arms:
        lines += summary.repeat_notes(arm.label, arm, arm.fingerprint)
    if any(arm.counts.get(UNCLEAR) for arm in comparison.arms):
        lines.append("texts that are unclear count as wrong for every arm (the pessimistic choice)")
    if comparison.declaration.caution:
        lines.append(comparison.declaration.caution)
    lines += summary.contention_notes((arm.label, arm.speed, arm.fingerprint) for arm in comparison.arms)
    if noise := comparison.noise:
        lines.append(
            f"noise: between two runs of the same arm ({noise.runs[0]}/{noise.arms[0]})"
            f" {noise.conversations.differ} of {noise.conversations.of} conversations flip,"
            f" {estimate(noise.conversations.share)}, and {noise.turns.differ} of {noise.turns.of} turns"
        )
    return lines


def signed(metric: Metric, difference: float) -> str:
    """Return a difference with its sign, or without one if it rounds to zero."""
    text = metric.amount(difference, "+")
    return text if float(text) else text.lstrip("+-")


_OF_NO_USE = {VerdictKind.NOTHING_TO_LOSE, VerdictKind.CANNOT_TELL}


def hint(comparison: Comparison) -> list[str]:
    """Return what to do if the verdicts are of no use: decide unclear texts, or compare by a finer metric."""
    kinds = {pair.verdict.kind for pair in comparison.pairs}
    open_ = [pair for pair in comparison.pairs if pair.verdict.unclear]
    if any(pair.verdict.kind is VerdictKind.CANNOT_TELL for pair in open_):
        runs = dict.fromkeys(arm.run for arm in comparison.arms if arm.counts.get(UNCLEAR))
        asked, scored = (
            " and ".join(f"rig {verb} {run}" for run in runs) for verb in ("adjudicate", "score")
        )
        return [f"to decide them: {asked}, then {scored}"]
    declaration = comparison.declaration
    finer = None if any(pair.won is None for pair in comparison.pairs) else declaration.progress
    if finer is None or not declaration.is_of_success(comparison.metric) or kinds.isdisjoint(_OF_NO_USE):
        return []
    noun = next(part.short or part.noun for part in declaration.outcome if part.name == finer.numerator)
    return [f"to ask for lost {noun} instead of lost conversations: --metric {finer.name}"]


def sparkline(rates: Sequence[float | None]) -> str:
    """Return a character for each level, as high as its rate; a space for a level that was not played."""
    levels = str(LEVELS)
    return "".join(" " if rate is None else levels[round((len(levels) - 1) * rate)] for rate in rates)


def evidence_line(event: EvidenceMoved) -> str:
    """Return what changed in the evidence as one line, with its picture if it is a curve."""
    rates = event.evidence.get("curve")
    return f"{sparkline(rates)}  {event.text}" if rates else event.text


def curve_line(curve: Trend) -> str:
    """Return a curve as one line: its picture, which option was varied, and what it shows."""
    return f"{sparkline([point['success'] for point in curve.points])}  {titled(curve)}: {curve.text}"


def titled(curve: Trend) -> str:
    """Return the title of a curve: what was measured over which option."""
    return one_line(f"{curve.name} over {curve.option.replace('_', '-')}")
