"""The ground truth of a conversation executed, turn by turn: the one course that everything else follows."""

from collections.abc import Iterator
from dataclasses import replace
from typing import NamedTuple

from rig.calls import CallPlace, ExecutedCall
from rig.methods.tooltalk.conversations import Conversation, Turn
from rig.scoring import Grader
from rig.toolbox.rules import TrueCall
from rig.toolbox.simulator import Simulator
from rig.toolbox.world import Snapshot


class TrueTurn(NamedTuple):
    """A turn at its position, the world before it, and its ground-truth calls as executed in that world."""

    position: int
    turn: Turn
    world: Snapshot
    calls: tuple[ExecutedCall, ...]


def replay(conversation: Conversation, simulator: Simulator) -> Iterator[TrueTurn]:
    """Every turn of a conversation, from its start. Raises RigError if it cannot start in this world.

    Upstream rebuilds the world and replays all earlier calls at every turn; a snapshot per turn gives the
    same states in linear time. The caller may act in the simulator between two turns; that is undone.
    """
    simulator.start(*conversation.start, recorded=conversation.ground_truth)
    world = simulator.snapshot()
    for index, turn in enumerate(conversation.turns):
        before = world
        calls: tuple[ExecutedCall, ...] = ()
        if turn.calls:
            simulator.restore(world)
            calls = tuple(simulator.execute(truth.call) for truth in turn.calls)
            world = simulator.snapshot()
        yield TrueTurn(index, turn, before, calls)


def decisive(recorded: TrueCall, replayed: ExecutedCall, grader: Grader) -> TrueCall:
    """What predictions are checked against: a true call with what the simulator returns for it, so that a
    model that makes the same call is right, no matter what was recorded. Upstream trusts the recording.
    """
    named = replace(recorded, username=replayed.username)
    if grader.mode == "upstream":
        return named
    return replace(named, call=replayed.call, outcome=replayed.outcome)


def replayed_truths(
    conversation: Conversation, simulator: Simulator, grader: Grader
) -> list[tuple[CallPlace, ExecutedCall]]:
    """The ground truth by (turn, call). Raises RigError if the conversation cannot start in this world."""
    return [
        (CallPlace(index, number), decisive(recorded, replayed, grader))
        for index, turn, _, calls in replay(conversation, simulator)
        for number, (recorded, replayed) in enumerate(zip(turn.calls, calls, strict=True))
    ]
