"""Arms compared with another, conversation by conversation, so that you may look whenever you like."""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from rig.calls import JsonObject
from rig.compare.arms import ChosenArm, Key, Scored, choose, common_grader, pick_baseline, read
from rig.compare.common import without_unfinished
from rig.compare.compare import Question, differing_from_first
from rig.compare.metrics import common_declaration, metric_named
from rig.errors import RigError
from rig.rates.sequential import Evidence, LossTest
from rig.store import GraderInfo, Runs
from rig.tasks import in_random_order


@dataclass(frozen=True, slots=True)
class Looked:
    """What is known of an arm's loss: in the `suite`, None if that cannot be said, and in conversations
    like these.
    """

    arm: str
    suite: Evidence | None
    alike: Evidence
    note: str = ""

    @property
    def judged(self) -> Evidence:
        """That by which the arm is judged: of the suite where there is one."""
        return self.suite or self.alike

    def as_json(self) -> JsonObject:
        """All of it by name."""
        suite = self.suite.as_json() if self.suite else None
        return {"arm": self.arm, "suite": suite, "alike": self.alike.as_json(), "note": self.note}


@dataclass(frozen=True, slots=True)
class Looks:
    """Arms beside a baseline, looked at after every conversation. `size` is the loss asked about."""

    store: Path
    baseline: str
    size: float
    alpha: float
    grader: GraderInfo
    arms: tuple[Looked, ...]
    notes: tuple[str, ...]

    def as_json(self) -> JsonObject:
        """All of it by name; losses are fractions."""
        return {
            "store": str(self.store),
            "baseline": self.baseline,
            "loss": self.size,
            "alpha": self.alpha,
            "grader": self.grader.as_json(),
            "arms": [each.as_json() for each in self.arms],
            "notes": list(self.notes),
        }


def look(runs: Runs, addresses: Sequence[str], size: float, question: Question | None = None) -> Looks:
    """Whether arms lose `size`, a fraction of conversations, or more against the baseline.

    Otherwise like `compare`, but each arm is compared with the baseline alone, in the conversations that both
    have finished. Raises RigError also for another metric than success.
    """
    question = question or Question()
    chosen, left_out = without_unfinished(choose(runs, addresses))
    if len(chosen) < 2:
        said = "".join(f"; {label} is left out: {why}" for label, why in left_out.items())
        raise RigError(f"there are no two arms to compare{said}")
    first = pick_baseline(chosen, question.baseline)
    ordered = [first, *(each for each in chosen if each is not first)]
    declaration = common_declaration(ordered)
    if not declaration.is_of_success(metric_named(declaration, question.metric)):
        raise RigError("--sequential only tests success; leave --metric out")
    _, notes = differing_from_first(ordered, across_settings=question.across_settings)
    grader, graded = common_grader(runs, ordered)
    baseline, *others = read(runs, ordered, grader)
    left = [f"{label} is left out: {why}" for label, why in left_out.items()]
    return Looks(
        store=runs.path,
        baseline=first.label,
        size=size,
        alpha=question.alpha,
        grader=grader,
        arms=tuple(_looked(baseline, each, size, question.alpha, len(others)) for each in others),
        notes=(*notes, *graded, *left),
    )


def _looked(baseline: Scored, arm: Scored, size: float, alpha: float, arms: int) -> Looked:
    keys, of, note = _drawn(baseline, arm)
    if not keys:
        raise RigError(f"{arm.chosen.label}: no conversation has been finished by it and the baseline")
    sides = [[side.successes(key) for key in keys] for side in (baseline, arm)]
    theirs, ours = (np.array([np.mean(each) for each in side]) for side in sides)
    repeats = {len(each) for side in sides for each in side}
    step = 1 / repeats.pop() if len(repeats) == 1 else 0.0
    suite, alike = (LossTest(size, each, alpha, arms, step).evidence(ours - theirs) for each in (of, None))
    return Looked(arm.chosen.label, suite if of else None, alike, note)


def _drawn(baseline: Scored, arm: Scored) -> tuple[list[Key], int | None, str]:
    """The conversations in a random order, how many they are a sample of, and what to say about that."""
    common = {key.name: key for key in baseline.cells.keys() & arm.cells.keys()}
    planned = [each.chosen.run.conversations for each in (baseline, arm)]
    if baseline.chosen.run.id == arm.chosen.run.id and _is_in_random_order(arm.chosen):
        repeats = arm.chosen.run.repeats
        drawn: list[Key] = []
        for name in planned[0]:
            key = common.get(name)
            if key is None or any(len(each.cells[key]) < repeats for each in (baseline, arm)):
                break
            drawn.append(key)
        return drawn, len(planned[0]), ""
    shuffled = in_random_order(list(common.values()), 0)
    if all(len(common) == len(each) for each in planned):
        return shuffled, len(common), ""
    note = (
        f"{len(common)} conversations were finished in the suite's order, which is not a random sample of the"
        " suite: what follows is about conversations like these"
    )
    return shuffled, None, note


def _is_in_random_order(arm: ChosenArm) -> bool:
    return arm.run.settings.get("until") is not None
