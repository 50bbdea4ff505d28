"""Sequential comparison: arms beside a baseline, which may be looked at after every conversation."""

from collections.abc import Container, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

from rig.compare.arms import (
    ComparisonOptions,
    ScoredArm,
    choose,
    prepare,
    without_shared,
    without_unfinished,
)
from rig.compare.compare import failed_by_machine, unequally_cut
from rig.compare.recommendation import NOTHING_TO_LOSE, file_bytes, smallest_passing
from rig.compare.verdict import Decision, Recommendation, RecommendationKind, points
from rig.core.calls import ByName
from rig.core.errors import RigError
from rig.core.metrics import total
from rig.plugins.strategies.early import SequentialArm, evidence_on
from rig.store import GraderInfo, Runs


@dataclass(frozen=True, slots=True)
class SequentialComparison(ByName):
    """Arms beside a baseline, looked at after every conversation. `loss` is the one asked about, a fraction;
    `left_out` has the reason for each arm that is not compared. `recommendation` is None unless the arms are
    files of several sizes.
    """

    store: str
    baseline: str
    loss: float
    alpha: float
    grader: GraderInfo
    arms: tuple[SequentialArm, ...]
    notes: tuple[str, ...]
    left_out: Mapping[str, str]
    recommendation: Recommendation | None


def compare_sequentially(
    runs: Runs,
    addresses: Sequence[str],
    size: float,
    question: ComparisonOptions | None = None,
    *,
    in_suite: bool = False,
) -> SequentialComparison:
    """Test whether arms lose `size`, a fraction of conversations, or more against the baseline.

    The decisions are about the files, in conversations like these. With `in_suite` they are about the suite:
    of two equally good files, one gets more of a small suite right than the other.

    Otherwise like `compare`, but each arm is compared with the baseline alone, in the conversations that both
    have finished. Raises RigError also for another metric than success.
    """
    question = question or ComparisonOptions()
    chosen, left_out = without_unfinished(choose(runs, addresses), question.baseline)
    if len(chosen) < 2:
        reasons = "".join(f"; {label} is left out: {why}" for label, why in left_out.items())
        raise RigError(f"there are no two arms to compare{reasons}")
    ready = prepare(runs, chosen, question, success_only=True)
    left_out |= (alone := without_shared(ready.scored))
    baseline, *others = (arm for arm in ready.scored if arm.chosen.label not in alone)
    left = [f"{label} is left out: {why}" for label, why in left_out.items()]
    arms = tuple(
        evidence_on(baseline, arm, size, question.alpha, len(others), in_suite=in_suite) for arm in others
    )
    labelled = (
        (arm.chosen.label, file_bytes(arm.chosen.arm.fingerprint or {})) for arm in (baseline, *others)
    )
    sizes = {label: size for label, size in labelled if size is not None}
    decisions = {arm.arm: arm.decision for arm in arms}
    is_right = any(won.most for key in baseline.cells for won in baseline.outcomes(key))
    lossless = [arm.arm for arm in arms if not is_right and arm.judged.high >= 0]
    suite, alike = " in this suite", " in conversations like these"
    among = {arm.arm: suite if arm.judged is arm.suite else alike for arm in arms}
    return SequentialComparison(
        store=str(runs.path),
        baseline=baseline.chosen.label,
        loss=size,
        alpha=question.alpha,
        grader=ready.graders[0],
        arms=arms,
        notes=(*ready.notes, *left, *_doubts(baseline, others, question.alpha)),
        left_out=left_out,
        recommendation=recommend_early(sizes, baseline.chosen.label, decisions, size, among, lossless),
    )


def _doubts(baseline: ScoredArm, others: Sequence[ScoredArm], alpha: float) -> Iterator[str]:
    """Yield what besides the models may have made a difference: failures of the machine, and limits."""
    yield from failed_by_machine(
        (arm.chosen.label, total(cell.errors for row in arm.cells.values() for cell in row.values()))
        for arm in (baseline, *others)
    )
    for arm in others:
        common = baseline.cells.keys() & arm.cells.keys()
        sides = [
            (
                side.chosen.label,
                side.chosen.settings.fingerprint,
                [{name for cell in side.cells[key].values() for name in cell.cuts} for key in common],
            )
            for side in (baseline, arm)
        ]
        yield from unequally_cut(sides, alpha)


def recommend_early(
    sizes: Mapping[str, int],
    baseline: str,
    decisions: Mapping[str, Decision],
    loss: float,
    among: Mapping[str, str],
    lossless: Container[str] = (),
) -> Recommendation | None:
    """Recommend by sequential tests of `loss`, which may be repeated before everything has been played.

    Each is about the conversations `among` which an arm's were drawn, which the recommendation states.
    `lossless` arms pass only because the baseline has nothing to lose; they are not shipped.
    """
    if not decisions or len(set(sizes.values())) < 2:
        return None
    decisions = {arm: Decision.CANNOT_TELL if arm in lossless else one for arm, one in decisions.items()}
    choice, smaller = smallest_passing(sizes, baseline, decisions, loss)
    if choice.kind is RecommendationKind.SHIP:
        return replace(choice, among=among[str(choice.arm)])
    if choice.kind is RecommendationKind.KEEP and smaller:
        where = " or".join(dict.fromkeys(among[arm] for arm in smaller))
        return replace(choice, reason=f"every smaller file loses at least {points(loss)}{where}")
    if choice.kind is RecommendationKind.CANNOT_TELL:
        reason = f"a loss of {points(loss)} has neither been shown nor excluded"
        is_lossless = all(arm in lossless for arm in choice.undecided)
        return replace(choice, reason=NOTHING_TO_LOSE.format("success") if is_lossless else reason)
    return choice
