"""How well a screen predicts stored runs of the same models: which turns change, and which flip."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from itertools import chain, repeat
from typing import Literal

import numpy as np
import scipy

from rig.compare.arms import ChosenArm, choose, common_graders, read
from rig.core.calls import ByName
from rig.core.errors import RigError
from rig.plugins.screen.results import ArmScreen, Screen, TurnKey, by_turn
from rig.store import Runs

Outcome = Literal["changed", "flipped", "lost"]

SIGNAL = "constrained KL from the base where the turn's first step calls or replies"
"""The one choice in a turn that every model also faces in a run."""
OUTCOMES: dict[Outcome, str] = {
    "changed": "the first step of the turn is another call, or a reply instead of a call, or the reverse",
    "flipped": "only one of the two got the turn right",
    "lost": "of the turns that the base got right, the model did not",
}


@dataclass(frozen=True, slots=True)
class Validity(ByName):
    """How well the screen's signal separates the turns with an outcome from those without.

    `auc` is the chance that a turn with the outcome has the stronger signal than one without (0.5: the signal
    says nothing), `p` the chance of an `auc` at least as far from 0.5 without any relation (Mann and Whitney
    1947, two-sided), and `spearman` the rank correlation. All are None if there are only turns of one sort.
    """

    arm: str
    outcome: Outcome
    turns: int
    with_outcome: int
    auc: float | None
    p: float | None
    spearman: float | None


_WEIGHTS = ("file_sha256", "adapter_sha256", "adapter_scale")
"""The parts of a fingerprint that identify a model."""


def check_stored(weights: Sequence[tuple[object, ...]], runs: Runs, addresses: Sequence[str]) -> None:
    """Raise RigError if stored runs have no arms for a screen of these weights, the base's first.

    It is called before the screen, which takes a while.
    """
    names = ["a file that is screened"] * len(weights)
    base, others = _stored(weights, names, runs, addresses, "the base's file")
    for other in others.values():
        common_graders(runs, [base, other])


def validity_of(screening: Screen, runs: Runs, addresses: Sequence[str]) -> list[Validity]:
    """Compare a screen with stored runs, which must have an arm for the base and for one other model.

    Arms are identified by the SHA-256 of their files. Raises RigError when they cannot be found.
    """
    weights = [tuple(map(arm.fingerprint.get, _WEIGHTS)) for arm in screening.arms]
    names = [arm.name for arm in screening.arms]
    base, others = _stored(weights, names, runs, addresses, f"the file of {screening.base.name}")
    result: list[Validity] = []
    for number, stored in others.items():
        arm = screening.arms[number]
        outcomes, signal = _outcomes(runs, base, stored), _signal(arm)
        result += [_validity(arm.name, outcome, outcomes[outcome], signal) for outcome in OUTCOMES]
    return result


def _stored(
    weights: Sequence[tuple[object, ...]],
    names: Sequence[str],
    runs: Runs,
    addresses: Sequence[str],
    base_file: str,
) -> tuple[ChosenArm, dict[int, ChosenArm]]:
    """Return the base's arm, and the other models' arms by number. Raises RigError if either is missing."""
    base, *others = map(_made_with, weights, names, repeat(choose(runs, addresses)))
    where = ", ".join(addresses)
    if base is None:
        raise RigError(f"{where}: no arm was made with {base_file}")
    if not any(others):
        raise RigError(f"{where}: no arm was made with any file that is screened but the base's")
    return base, {number: arm for number, arm in enumerate(others, 1) if arm is not None}


def _made_with(weights: tuple[object, ...], name: str, chosen: Sequence[ChosenArm]) -> ChosenArm | None:
    """Return the arm with this file and adapter, or None. Raises RigError if there are several."""
    fitting = [
        candidate
        for candidate in chosen
        if weights[0] is not None
        and tuple((candidate.arm.fingerprint or {}).get(f"model.{part}") for part in _WEIGHTS) == weights
    ]
    if len(fitting) > 1:
        names = ", ".join(candidate.address for candidate in fitting)
        raise RigError(f"{name} could be any of {names}; give one as RUN/ARM with --against")
    return fitting[0] if fitting else None


def _outcomes(runs: Runs, base: ChosenArm, arm: ChosenArm) -> dict[Outcome, dict[TurnKey, bool]]:
    """Return for each outcome whether it came about, in each turn that both arms have finished."""
    graders, _ = common_graders(runs, [base, arm])
    rights: list[dict[TurnKey, Fraction]] = []
    for scored in read(runs, [base, arm], graders):
        judged: dict[TurnKey, list[bool]] = {}
        for (conversation, _), cells in scored.cells.items():
            for turn in chain.from_iterable(cell.turns for cell in cells.values()):
                if turn.right is not None:
                    judged.setdefault(TurnKey(conversation, turn.turn), []).append(turn.right)
        rights.append({turn: Fraction(sum(values), len(values)) for turn, values in judged.items()})
    before, after = rights
    common = [turn for turn in before if turn in after]
    first = [_first_steps(runs, arm_played, {name for name, _ in common}) for arm_played in (base, arm)]
    both = [turn for turn in common if all(turn in steps for steps in first)]
    return {
        "changed": {turn: first[0][turn] != first[1][turn] for turn in both},
        "flipped": {turn: before[turn] != after[turn] for turn in common},
        "lost": {turn: after[turn] < before[turn] for turn in common if before[turn]},
    }


def _first_steps(runs: Runs, chosen: ChosenArm, conversations: set[str]) -> dict[TurnKey, object]:
    """Return how each turn of the first repeat began: the call, that it was a reply, or its error."""
    steps: dict[TurnKey, object] = {}
    for name in sorted(conversations):
        for turn, played in runs.transcript(chosen.run, name, chosen.arm.position).turns.items():
            if played.steps:
                first = played.steps[0].prediction
                outcome = first.kind if first.error is None else first.error
                steps[TurnKey(name, turn)] = outcome if first.call is None else first.call
    return steps


def _signal(arm: ArmScreen) -> dict[TurnKey, float]:
    """Return the signal of each turn in which every choice could be compared with the base's."""
    signal: dict[TurnKey, float] = {}
    for turn, steps in by_turn(arm):
        if all(len(step.divergences) == len(step.assessment.choices) for step in steps):
            first = zip(steps[0].assessment.choices, steps[0].divergences, strict=True)
            signal[turn] = sum(divergence for choice, divergence in first if choice.kind == "answer")
    return signal


def _validity(
    arm: str, outcome: Outcome, happened: Mapping[TurnKey, bool], strength: Mapping[TurnKey, float]
) -> Validity:
    turns = [turn for turn in happened if turn in strength]
    labels = np.array([happened[turn] for turn in turns], dtype=bool)
    values = np.array([strength[turn] for turn in turns], dtype=np.float64)
    auc = p = spearman = None
    if labels.any() and not labels.all():
        test = scipy.stats.mannwhitneyu(values[labels], values[~labels])
        auc = float(test.statistic) / (int(labels.sum()) * int((~labels).sum()))
        p = float(test.pvalue)
        spearman = float(scipy.stats.spearmanr(values, labels).statistic) if np.ptp(values) else None
    return Validity(arm, outcome, len(turns), int(labels.sum()), auc, p, spearman)
