"""Sequential comparison: arms beside a baseline, which may be looked at after every conversation."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from rig.calls import ByName
from rig.compare.arms import (
    ComparisonOptions,
    ScoredArm,
    choose,
    prepare,
    without_unfinished,
)
from rig.compare.recommendation import file_bytes, recommend_early
from rig.compare.verdict import Decision, Recommendation
from rig.errors import RigError
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
    `recommendation` is None unless the arms are files of several sizes.
    """

    store: str
    baseline: str
    loss: float
    alpha: float
    grader: GraderInfo
    arms: tuple[SequentialArm, ...]
    notes: tuple[str, ...]
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
    baseline, *others = ready.scored
    left = [f"{label} is left out: {why}" for label, why in left_out.items()]
    arms = tuple(_looked(baseline, arm, size, question.alpha, len(others)) for arm in others)
    labelled = ((arm.chosen.label, file_bytes(arm.chosen.arm.fingerprint or {})) for arm in ready.scored)
    sizes = {label: size for label, size in labelled if size is not None}
    decisions = {arm.arm: arm.decision for arm in arms}
    among = " in this suite" if any(arm.suite for arm in arms) else " in conversations like these"
    return SequentialComparison(
        store=str(runs.path),
        baseline=baseline.chosen.label,
        loss=size,
        alpha=question.alpha,
        grader=ready.graders[0],
        arms=arms,
        notes=(*ready.notes, *left),
        recommendation=recommend_early(sizes, baseline.chosen.label, decisions, size, among),
    )


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
        (_mean(first), _mean(second)) for first, second in zip(*played, strict=True)
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


def _mean(outcomes: Sequence[OutcomeBounds]) -> list[OutcomeBounds]:
    """Combine the repeats of a conversation into one."""
    least, most = (float(np.mean(ends)) for ends in list(zip(*outcomes, strict=True))[:2])
    return [OutcomeBounds(least, most, sum(outcome.texts for outcome in outcomes))]
