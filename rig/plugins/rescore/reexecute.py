"""Execute predicted calls again: do they return what was recorded, and what do they do to the world?

None of this is stored.
"""

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from rig.core.calls import ExecutedCall, Json, JsonObject, StepPlace
from rig.core.errors import RigError
from rig.core.tasks import PlayedTurn, Task, turn_number
from rig.methods.base import Setup
from rig.plugins.rescore.setups import setup_of
from rig.store import StoredRun, Transcript
from rig.world.diff import Effect as Effect
from rig.world.diff import Effects as Effects


@dataclass(frozen=True, slots=True)
class Reexecuted:
    """The call `step` of an assistant turn, the `number`th, as it was recorded and as executed now."""

    turn: int
    number: int
    step: int
    recorded: ExecutedCall
    executed: ExecutedCall
    differs: bool

    def as_json(self) -> JsonObject:
        """Return the request and both outcomes."""
        return {
            "turn": self.number,
            "position": self.turn,
            "step": self.step,
            "request": {"api_name": self.recorded.name, "parameters": self.recorded.arguments},
            "recorded": self.recorded.outcome.as_json(),
            "executed": self.executed.outcome.as_json(),
        }


def require_world(setup: Setup) -> Setup:
    """Return the setup if it can execute calls. Raises RigError if it cannot."""
    if not setup.has_world:
        raise RigError(
            f"the method {setup.method.name} has no world: its calls change nothing, and return nothing"
        )
    return setup


def reexecute(task: Task, played: Mapping[int, PlayedTurn], setup: Setup) -> Iterator[tuple[Reexecuted, Any]]:
    """Execute every predicted call again, in the world that its turn begins in, which is yielded with it.

    Responses differ unless they are equal as JSON. Errors count as equal whatever their texts, which are the
    simulator's own, except where a match depends on the text. Raises RigError if the task cannot start in
    this world.
    """
    truths = [call for turn in task.known_turns for call in task.expected(turn).calls]
    for turn, world in setup.worlds(task, played):
        setup.simulator.restore(world)
        for number, step in enumerate(played[turn].steps if turn in played else ()):
            if (recorded := step.executed) is not None:
                executed = setup.simulator.repeat(recorded)
                differs = _differ(recorded, executed, truths)
                place = turn_number(task, turn)
                yield Reexecuted(turn, place, number, recorded, executed, differs), world


def effects(task: Task, played: Mapping[int, PlayedTurn], setup: Setup) -> Iterator[Effect]:
    """Yield the effect of each call, in the world as the turn's earlier calls leave it.

    Raises RigError if the task cannot start in this world.
    """
    world: Any = None
    last = None
    for again, began in reexecute(task, played, setup):
        before = world if again.turn == last else began
        world, last = setup.simulator.snapshot(), again.turn
        yield Effect(again.turn, again.step, setup.simulator.diff(before, world), again.differs)


def effects_of(run: StoredRun, transcript: Transcript) -> Effects:
    """Return the effects of a stored task's calls, in the world that the run names.

    Raises RigError if there is no such world, or the task cannot start in it.
    """
    setup = require_world(setup_of(run))
    made_in = next((arm.fingerprint for arm in run.arms if arm.name == transcript.arm), None) or {}
    is_other = any(made_in.get(name, value) != value for name, value in setup.fingerprint.items())
    by_call = effects(transcript.conversation, transcript.turns, setup)
    return Effects({StepPlace(effect.turn, effect.step): effect for effect in by_call}, is_other)


def _differ(recorded: ExecutedCall, executed: ExecutedCall, truths: Sequence[ExecutedCall]) -> bool:
    """Return whether a repeated call had a different outcome in a way that can matter to a score."""
    if recorded.exception is None or executed.exception is None:
        same_kind = recorded.exception is None and executed.exception is None
        return not same_kind or _canonical(recorded.response) != _canonical(executed.response)
    # An error that the ground truth expects is matched by its text.
    expected = {truth.exception for truth in truths if truth.name == recorded.name} - {None}
    return any((recorded.exception == text) is not (executed.exception == text) for text in expected)


def _canonical(response: Json) -> str:
    """Return a text that is equal for equal JSON; Python's == confuses true with 1, and NaN is not NaN."""
    return json.dumps(response, sort_keys=True)
