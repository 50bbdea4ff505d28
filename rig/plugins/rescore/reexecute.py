"""Execute predicted calls again: do they return what was recorded, and what do they do to the world?

None of this is stored.
"""

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from rig.core.calls import ExecutedCall, Json, JsonObject, StepPlace
from rig.core.errors import RigError, counted
from rig.core.tasks import PlayedTurn, Task, turn_number
from rig.methods.base import Setup
from rig.plugins.matching import worlds
from rig.plugins.matching.worlds import Effect, Effects, RecordChange
from rig.plugins.rescore.setups import setup_of
from rig.show.texts import clip, clip_json
from rig.show.transcript import LONGEST, StepNotes
from rig.store import StoredRun, Transcript


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
        yield Effect(again.turn, again.step, worlds.diff(setup.simulator, before, world), again.differs)


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


def notes_on(run: StoredRun, transcript: Transcript) -> StepNotes:
    """Return the effects of a stored task's calls as notes on its steps. Raises RigError as `effects_of`."""
    effects = effects_of(run, transcript)
    caution = "the world is not the one this run was made in; --diff shows the present one"
    return StepNotes(
        {place: effect_lines(effect) for place, effect in effects.by_call.items()},
        {place: {"effect": effect.as_json()} for place, effect in effects.by_call.items()},
        caution if effects.other_world else "",
    )


def effect_lines(effect: Effect) -> list[str]:
    """Return what a call did to the world, a line for each record, without the simulator's internal state."""
    lines = [_record(change) for change in effect.diff.changes if not change.is_bookkeeping]
    if effect.diff.omitted:
        lines.append(f"and {counted(effect.diff.omitted, 'more record')}")
    if effect.differs:
        lines.append("executed again, this call gives a different response from the stored one")
    return [f"world: {line}" for line in lines or ["no record changed"]]


def _record(change: RecordChange) -> str:
    parts = (value for _, value in change.key)
    key = " ".join(clip(part, LONGEST).line if isinstance(part, str) else _value(part) for part in parts)
    columns = []
    for column in change.columns:
        values = (_value(value) for value in (column.before, column.after) if value is not None)
        columns.append(f"{column.name} {' -> '.join(values)}")
    return f"{change.kind} {change.table} {key}: {'; '.join(columns) or 'the record'}"


def _value(value: Json) -> str:
    return clip_json(value, LONGEST).line
