"""What each predicted call did to the world, found out by executing it again. Nothing of this is stored."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import cast

from rig.calls import JsonObject
from rig.episodes import PlayedTurn
from rig.errors import RigError
from rig.methods.tooltalk.conversations import Conversation
from rig.methods.tooltalk.replay import replay
from rig.rescore.reexecute import differ
from rig.rescore.setups import setup_of
from rig.store import StoredRun, Transcript
from rig.toolbox.diff import WorldDiff
from rig.toolbox.simulator import Simulator


@dataclass(frozen=True, slots=True)
class Effect:
    """What the call `step` of an assistant turn did. `differs`: its response is not the recorded one now."""

    turn: int
    step: int
    diff: WorldDiff
    differs: bool

    def as_json(self) -> JsonObject:
        """The diff, and whether the response differs."""
        return {"turn": self.turn, "step": self.step, "differs": self.differs, **self.diff.as_json()}


@dataclass(frozen=True, slots=True)
class Effects:
    """The effects of a conversation's calls by (turn, step).

    `other_world` says that the world is not the one the run was made in, so that effects may differ, too.
    """

    by_call: Mapping[tuple[int, int], Effect]
    other_world: bool = False


def effects(
    conversation: Conversation, played: Mapping[int, PlayedTurn], simulator: Simulator
) -> Iterator[Effect]:
    """The effect of each call, in the world as the ground truth and the turn's earlier calls leave it.

    Raises RigError where the conversation cannot start in this world.
    """
    truths = conversation.ground_truth
    for index, _, before, _ in replay(conversation, simulator):
        if index not in played:
            continue
        simulator.restore(before)
        for step, recorded in enumerate(played[index].executed):
            executed = simulator.execute(recorded.call)
            after = simulator.snapshot()
            yield Effect(index, step, simulator.diff(before, after), differ(recorded, executed, truths))
            before = after


def effects_of(run: StoredRun, transcript: Transcript) -> Effects:
    """The effects of a stored conversation's calls, in the world that the run names.

    Raises RigError when that world cannot be had, or the conversation not be started in it.
    """
    setup = setup_of(run)
    if setup.simulator is None:
        raise RigError(f"a run of the method {run.declaration.method} has no world that calls could change")
    now = setup.fingerprint["world_sha256"]
    fingerprint = next((arm.fingerprint for arm in run.arms if arm.name == transcript.arm), None) or {}
    made_in = fingerprint.get("world_sha256")
    conversation = cast(Conversation, transcript.conversation)
    found = effects(conversation, transcript.turns, setup.simulator)
    by_call = {(effect.turn, effect.step): effect for effect in found}
    return Effects(by_call, made_in not in (None, now))
