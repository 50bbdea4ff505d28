"""Noise: how much two arms differ that should answer alike.

Two runs of the very same arm are an A/A test; a fast arm against an exact one shows what speed changes.
"""

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from rig.compare.arms import (
    ChosenArm,
    ConversationKey,
    choose,
    common_graders,
    read,
    shared_conversations,
    without_shared,
)
from rig.compare.settings import MODEL, SEED, factors
from rig.core.calls import ByName, StepPlace
from rig.core.errors import RigError
from rig.stats import Estimate, interval
from rig.store import Runs, ScoredCell


@dataclass(frozen=True, slots=True)
class DifferingShare(ByName):
    """How many things differ, out of how many, and their share with its interval over conversations."""

    differ: int
    of: int
    share: Estimate


@dataclass(frozen=True, slots=True)
class Noise(ByName):
    """What differs between two arms that should answer alike, measured separately.

    - `steps`: predictions with a different text; one that only one arm made counts too.
    - `calls`: steps that are a call in either, judged differently: matched, incorrect, neither, or no call.
    - `turns`: right in only one (everything due was done, nothing wrong, and no generation failed).
    - `conversations`: successful in only one.

    Each repeat counts separately. `settings` are what the arms differ in, including the seed.
    """

    runs: tuple[str, str]
    arms: tuple[str, str]
    settings: tuple[str, ...]
    steps: DifferingShare
    calls: DifferingShare
    turns: DifferingShare
    conversations: DifferingShare


def noise_of(runs: Runs, address: str, alpha: float) -> Noise:
    """Return the noise between the first arm of a run and its equal, as in a run of `rig noise`.

    Raises RigError if every other arm differs from the first in more than the seed.
    """
    first, *others = choose(runs, [address])
    for other in others:
        if {factor.name for factor in factors(first.settings, other.settings)} <= {SEED}:
            return noise_between(runs, first, other, alpha)
    raise RigError(
        f"no other arm of {first.run.id} is the same as {first.arm.name}; `rig noise` makes such a run"
    )


def noise_between(runs: Runs, first: ChosenArm, second: ChosenArm, alpha: float) -> Noise:
    """Return what differs between two arms of the same model, in the conversations that both have finished.

    Raises RigError when the models differ, or there is no such conversation.
    """
    settings = factors(first.settings, second.settings)
    if any(factor.name == MODEL for factor in settings):
        raise RigError(
            f"{second.address} and {first.address} are not the same model; that does not measure noise"
        )
    graders, _ = common_graders(runs, [first, second])
    scored = read(runs, [first, second], graders)
    without_shared(scored)
    keys = shared_conversations(scored).common
    counts: dict[str, list[tuple[int, int]]] = {name: [] for name in _KINDS}
    for key in keys:
        differing = dict.fromkeys(_KINDS, (0, 0))
        cells = [arm.cells[key] for arm in scored]
        for repeat in sorted(cells[0].keys() & cells[1].keys()):
            pair = cells[0][repeat], cells[1][repeat]
            for name, differs in _differences(runs, (first, second), key, repeat, pair):
                differing[name] = differing[name][0] + differs, differing[name][1] + 1
        for name in _KINDS:
            counts[name].append(differing[name])
    shares = {}
    for name, pairs in counts.items():
        differ, of = np.array(pairs, dtype=np.float64).T
        shares[name] = DifferingShare(int(differ.sum()), int(of.sum()), interval(differ, of, alpha))
    return Noise(
        runs=(first.run.id, second.run.id),
        arms=(first.arm.name, second.arm.name),
        settings=tuple(map(str, settings)),
        **shares,
    )


_KINDS = ("steps", "calls", "turns", "conversations")


def _differences(
    runs: Runs,
    arms: tuple[ChosenArm, ChosenArm],
    key: ConversationKey,
    repeat: int,
    cells: tuple[ScoredCell, ScoredCell],
) -> Iterator[tuple[str, bool]]:
    """Yield each kind of thing in a conversation that could differ, and whether it does."""
    transcripts = [runs.transcript(arm.run, key.name, arm.arm.position, repeat) for arm in arms]
    steps = [
        {
            StepPlace(turn.turn, number): step
            for turn in transcript.turns.values()
            for number, step in enumerate(turn.steps)
        }
        for transcript in transcripts
    ]
    for place in steps[0].keys() | steps[1].keys():
        one, other = (step.get(place) for step in steps)
        yield "steps", one is None or other is None or one.prediction.raw != other.prediction.raw
        verdicts = [
            (step.verdict.match, step.verdict.bad_action) if step and step.verdict else None
            for step in (one, other)
        ]
        if any(verdicts):
            yield "calls", verdicts[0] != verdicts[1]
    rights = [cell.rights for cell in cells]
    for turn in rights[0].keys() & rights[1].keys():
        yield "turns", rights[0][turn] != rights[1][turn]
    succeeded = arms[0].run.declaration.succeeded
    yield "conversations", succeeded(cells[0].counts) != succeeded(cells[1].counts)
