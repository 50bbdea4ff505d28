"""Sequential comparison: arms beside a baseline, which may be looked at after every conversation."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from rig.calls import ByName
from rig.compare.arms import (
    ComparisonOptions,
    ScoredArm,
    choose,
    prepare,
    without_shared,
    without_unfinished,
)
from rig.compare.compare import failed_by_machine, unequally_cut
from rig.compare.recommendation import file_bytes, recommend_early
from rig.compare.verdict import Decision, Recommendation
from rig.errors import RigError
from rig.metrics import total
from rig.rates.sequential import DifferenceBounds, Evidence, LossTest, OutcomeBounds
from rig.store import GraderInfo, Runs
from rig.tasks import in_random_order


@dataclass(frozen=True, slots=True)
class SequentialArm(ByName):
    """The evidence on an arm's loss: in the `suite`, None if it says nothing about that, and in conversations
    like these.
    """

    arm: str
    suite: Evidence | None
    alike: Evidence
    note: str = ""

    @property
    def judged(self) -> Evidence:
        """The evidence that decides: on the suite if there is any."""
        return self.suite or self.alike

    @property
    def decision(self) -> Decision:
        """The decision on the loss that was asked about."""
        kinds = {"shown": Decision.WORSE, "excluded": Decision.PASSES, None: Decision.CANNOT_TELL}
        return kinds[self.judged.found]


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
    runs: Runs, addresses: Sequence[str], size: float, question: ComparisonOptions | None = None
) -> SequentialComparison:
    """Test whether arms lose `size`, a fraction of conversations, or more against the baseline.

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
    arms = tuple(_looked(baseline, arm, size, question.alpha, len(others)) for arm in others)
    labelled = (
        (arm.chosen.label, file_bytes(arm.chosen.arm.fingerprint or {})) for arm in (baseline, *others)
    )
    sizes = {label: size for label, size in labelled if size is not None}
    decisions = {arm.arm: arm.decision for arm in arms}
    is_right = any(won.most for key in baseline.cells for won in baseline.outcomes(key))
    lossless = [arm.arm for arm in arms if not is_right and arm.judged.high >= 0]
    among = {arm.arm: " in this suite" if arm.suite else " in conversations like these" for arm in arms}
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


def _looked(baseline: ScoredArm, arm: ScoredArm, size: float, alpha: float, arms: int) -> SequentialArm:
    differences, step, of, note = _drawn(baseline, arm)
    if not len(differences):
        raise RigError(f"{arm.chosen.label}: no conversation has been finished by it and the baseline")
    suite = LossTest(size, of, alpha, arms, step).evidence(differences) if of else None
    alike = LossTest(size, None, alpha, arms, step).evidence(differences)
    return SequentialArm(arm.chosen.label, suite, alike, note)


def _drawn(baseline: ScoredArm, arm: ScoredArm) -> tuple[DifferenceBounds, float, int | None, str]:
    """Return the differences in a random order, the step that they are multiples of, the number of
    conversations that they are a sample of, and a note about that.
    """
    planned = [side.chosen.run.conversations for side in (baseline, arm)]
    if baseline.chosen.run.id == arm.chosen.run.id and arm.chosen.run.settings.get("until") is not None:
        repeats = arm.chosen.run.repeats
        sides = [{key.name: side.outcomes(key) for key in side.cells} for side in (baseline, arm)]
        both = ((sides[0].get(name, []), sides[1].get(name, [])) for name in planned[0])
        return DifferenceBounds.of_outcomes(both, repeats), 1 / repeats, len(planned[0]), ""
    common = in_random_order(list(baseline.cells.keys() & arm.cells.keys()), 0)
    played = [[side.outcomes(key) for key in common] for side in (baseline, arm)]
    differences = DifferenceBounds.of_outcomes(
        ([OutcomeBounds.mean(first)], [OutcomeBounds.mean(second)])
        for first, second in zip(*played, strict=True)
    )
    times = {len(outcomes) for side in played for outcomes in side}
    step = 1 / times.pop() if len(times) == 1 else 0.0
    if all(len(common) == len(names) for names in planned):
        return differences, step, len(common), ""
    note = (
        f"{len(common)} conversations were finished in the suite's order, which is not a random sample of the"
        " suite: what follows is about conversations like these"
    )
    return differences, step, None, note
