"""The evidence on an arm beside a baseline, which may be looked at after every conversation."""

from dataclasses import dataclass

from rig.compare.arms import ConversationKey, ScoredArm
from rig.compare.early import is_bounded
from rig.compare.verdict import Decision
from rig.core.calls import ByName
from rig.core.tasks import in_random_order
from rig.plugins.strategies.sequential import DifferenceBounds, Evidence, LossTest
from rig.stats.rates import OutcomeBounds

_UNKNOWN = OutcomeBounds(0.0, 1.0)


@dataclass(frozen=True, slots=True)
class SequentialArm(ByName):
    """The evidence on an arm's loss: in the `suite`, None if it says nothing about that, and in conversations
    like these, which is about the files. With `in_suite`, the first decides.
    """

    arm: str
    suite: Evidence | None
    alike: Evidence
    note: str = ""
    in_suite: bool = False

    @property
    def judged(self) -> Evidence:
        """The evidence that decides."""
        return (self.in_suite and self.suite) or self.alike

    @property
    def decision(self) -> Decision:
        """The decision on the loss that was asked about."""
        kinds = {"shown": Decision.WORSE, "excluded": Decision.PASSES, None: Decision.CANNOT_TELL}
        return kinds[self.judged.found]


def evidence_on(
    baseline: ScoredArm, arm: ScoredArm, size: float, alpha: float, arms: int, *, in_suite: bool = False
) -> SequentialArm:
    """Return the evidence on a loss of `size`, a fraction, as one of so many `arms`."""
    differences, step, of, note = _drawn(baseline, arm)
    suite = LossTest(size, of, alpha, arms, step).evidence(differences) if of else None
    alike = LossTest(size, None, alpha, arms, step).evidence(differences)
    if in_suite and suite is None:
        note = f"{note}; --in-suite has no effect"
    return SequentialArm(arm.chosen.label, suite, alike, note, in_suite)


def bounds_on(baseline: ScoredArm, arm: ScoredArm, size: float, alpha: float, arms: int) -> Evidence:
    """Return the bounds of a loss in conversations like these."""
    return evidence_on(baseline, arm, size, alpha, arms).alike


def _drawn(baseline: ScoredArm, arm: ScoredArm) -> tuple[DifferenceBounds, float, int | None, str]:
    """Return the differences in a random order, the step that they are multiples of, the number of
    conversations that they are a sample of, and a note about that.
    """
    planned = [side.chosen.run.conversations for side in (baseline, arm)]
    is_one_run = baseline.chosen.run.id == arm.chosen.run.id
    if is_one_run and arm.chosen.run.begun and not baseline.chosen.arm.position:
        repeats = arm.chosen.run.repeats
        sides = [{key.name: side.outcomes(key) for key in side.cells} for side in (baseline, arm)]
        both = ((sides[0].get(name, []), sides[1].get(name, [])) for name in planned[0])
        return DifferenceBounds.of_outcomes(both, repeats), 1 / repeats, len(planned[0]), ""
    if is_bounded(baseline, arm):
        return _filled(baseline, arm), 0.0, None, ""
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


def _filled(baseline: ScoredArm, arm: ScoredArm) -> DifferenceBounds:
    """Return the differences in the order of a run that chose what was played, up to the last conversation
    that it played. What either side did not play may have gone either way.
    """
    chooser = baseline if baseline.unplayed else arm
    keys = {key.name: key for side in (arm, baseline, chooser) for key in side.cells}
    played = {key.name for key in chooser.cells}
    names = list(chooser.chosen.run.conversations)
    last = max((place for place, name in enumerate(names) if name in played), default=-1)
    rows = []
    for name in names[: last + 1]:
        before, after = (_of_side(side, keys.get(name)) for side in (baseline, arm))
        unplayed = float(before == _UNKNOWN or after == _UNKNOWN)
        ends = after.least - before.most, after.most - before.least
        rows.append((*ends, before.texts + after.texts, unplayed))
    return DifferenceBounds.of_rows(rows)


def _of_side(side: ScoredArm, key: ConversationKey | None) -> OutcomeBounds:
    """Return the outcome of an arm in a conversation, unknown in the repeats that it did not play."""
    if key is None or key not in side.cells:
        return _UNKNOWN
    outcomes = side.outcomes(key)
    missing = max(side.chosen.run.repeats - len(outcomes), 0) if side.unplayed else 0
    return OutcomeBounds.mean([*outcomes, *[_UNKNOWN] * missing])
