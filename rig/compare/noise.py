"""The noise: how much two arms differ that should answer alike.

Two runs of the very same arm are an A/A test; a fast arm against an exact one shows what speed changes.
"""

from collections.abc import Iterator
from dataclasses import asdict, dataclass

import numpy as np

from rig.calls import JsonObject
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
from rig.episodes import Step
from rig.errors import RigError
from rig.rates import Estimate, interval
from rig.store import Runs, ScoredCell
from rig.verdicts import StepPlace


@dataclass(frozen=True, slots=True)
class DifferingShare:
    """How many things differ out of how many, and their share with its interval over conversations."""

    differ: int
    of: int
    share: Estimate


@dataclass(frozen=True, slots=True)
class Noise:
    """What differs between two arms that should answer alike, measured separately.

    - `steps`: predictions with a different text; one that only one arm made counts too.
    - `calls`: steps that are a call in either, judged differently: matched, incorrect, neither, or no call.
    - `turns`: right in only one (everything due was done, nothing wrong, and no generation failed).
    - `conversations`: successful in only one.

    Repeats count one by one. `settings` are what the arms differ in, including the seed.
    """

    runs: tuple[str, str]
    arms: tuple[str, str]
    settings: tuple[str, ...]
    steps: DifferingShare
    calls: DifferingShare
    turns: DifferingShare
    conversations: DifferingShare

    def as_json(self) -> JsonObject:
        """All of it by name."""
        return asdict(self) | {name: list(getattr(self, name)) for name in ("runs", "arms", "settings")}


def noise_of(runs: Runs, address: str, alpha: float) -> Noise:
    """The noise between the first arm of a run and its equal, as `rig noise` makes one.

    Raises RigError unless there is one that differs from it in the seed at most.
    """
    first, *others = choose(runs, [address])
    for other in others:
        if {factor.name for factor in factors(first.settings, other.settings)} <= {SEED}:
            return noise_between(runs, first, other, alpha)
    raise RigError(
        f"no other arm of {first.run.id} is the same as {first.arm.name}; `rig noise` makes such a run"
    )


def noise_between(runs: Runs, first: ChosenArm, second: ChosenArm, alpha: float) -> Noise:
    """What differs between two arms of the same model, in the conversations that both have finished.

    Raises RigError when the models differ, or there is no such conversation.
    """
    differing = factors(first.settings, second.settings)
    if any(factor.name == MODEL for factor in differing):
        raise RigError(
            f"{second.address} and {first.address} are not the same model; that does not measure noise"
        )
    graders, _ = common_graders(runs, [first, second])
    scored = read(runs, [first, second], graders)
    without_shared(scored)
    keys = shared_conversations(scored).common
    counts: dict[str, list[tuple[int, int]]] = {name: [] for name in _KINDS}
    for key in keys:
        found = dict.fromkeys(_KINDS, (0, 0))
        cells = [arm.cells[key] for arm in scored]
        for repeat in sorted(cells[0].keys() & cells[1].keys()):
            pair = cells[0][repeat], cells[1][repeat]
            for name, differs in _differences(runs, (first, second), key, repeat, pair):
                found[name] = found[name][0] + differs, found[name][1] + 1
        for name in _KINDS:
            counts[name].append(found[name])
    return Noise(
        runs=(first.run.id, second.run.id),
        arms=(first.arm.name, second.arm.name),
        settings=tuple(map(str, differing)),
        **{name: _differing(counts[name], alpha) for name in _KINDS},
    )


_KINDS = ("steps", "calls", "turns", "conversations")


def _differences(
    runs: Runs,
    arms: tuple[ChosenArm, ChosenArm],
    key: ConversationKey,
    repeat: int,
    cells: tuple[ScoredCell, ScoredCell],
) -> Iterator[tuple[str, bool]]:
    """Each thing in a conversation that could differ, and whether it does."""
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
        if _verdict(one) or _verdict(other):
            yield "calls", _verdict(one) != _verdict(other)
    rights = [cell.rights for cell in cells]
    for turn in rights[0].keys() & rights[1].keys():
        yield "turns", rights[0][turn] != rights[1][turn]
    succeeded = arms[0].run.declaration.succeeded
    yield "conversations", succeeded(cells[0].counts) != succeeded(cells[1].counts)


def _verdict(step: Step | None) -> tuple[bool, bool] | None:
    if step is None or step.verdict is None:
        return None
    return step.verdict.match, step.verdict.bad_action


def _differing(counts: list[tuple[int, int]], alpha: float) -> DifferingShare:
    differ, of = np.array(counts, dtype=np.float64).T
    return DifferingShare(int(differ.sum()), int(of.sum()), interval(differ, of, alpha))
