"""Predicted calls executed again: whether the simulator still returns what was recorded of them."""

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from rig.calls import ExecutedCall, Json, JsonObject
from rig.episodes import PlayedTurn
from rig.methods.tooltalk.conversations import Conversation
from rig.methods.tooltalk.replay import replay
from rig.toolbox.simulator import Simulator


@dataclass(frozen=True, slots=True)
class Reexecuted:
    """The call `step` of an assistant turn, as it was recorded and as it is executed now."""

    turn: int
    step: int
    recorded: ExecutedCall
    executed: ExecutedCall
    differs: bool

    def as_json(self) -> JsonObject:
        """The request, and both outcomes."""
        return {
            "turn": self.turn,
            "step": self.step,
            "request": {"api_name": self.recorded.name, "parameters": self.recorded.arguments},
            "recorded": self.recorded.outcome.as_json(),
            "executed": self.executed.outcome.as_json(),
        }


def reexecute(
    conversation: Conversation, played: Mapping[int, PlayedTurn], simulator: Simulator
) -> Iterator[Reexecuted]:
    """Execute every predicted call again, each turn in the world as the ground truth before it leaves it.

    Responses differ unless they are equal as JSON. Errors are equal as such: their texts are the simulator's
    own, and count only where a match depends on them. Raises RigError where the conversation cannot start in
    this world.
    """
    truths = conversation.ground_truth
    for index, _, world, _ in replay(conversation, simulator):
        simulator.restore(world)
        for step, recorded in enumerate(played[index].executed if index in played else ()):
            executed = simulator.execute(recorded.call)
            yield Reexecuted(index, step, recorded, executed, differ(recorded, executed, truths))


def differ(recorded: ExecutedCall, executed: ExecutedCall, truths: Sequence[ExecutedCall]) -> bool:
    """Whether a call executed again came out otherwise, as far as that can matter to a score."""
    if recorded.exception is None or executed.exception is None:
        same_kind = recorded.exception is None and executed.exception is None
        return not same_kind or _canonical(recorded.response) != _canonical(executed.response)
    # An error that the ground truth expects is matched by its text.
    expected = {truth.exception for truth in truths if truth.name == recorded.name} - {None}
    return any((recorded.exception == text) is not (executed.exception == text) for text in expected)


def _canonical(response: Json) -> str:
    """Equal for equal JSON, which Python's == is not: there true is 1, and NaN is not NaN."""
    return json.dumps(response, sort_keys=True)
