"""Tasks as a person reads them: a view of each is stored, so that a run can be read without its method."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from itertools import count, islice, takewhile
from typing import Any

from rig.calls import Call, ExecutedCall, JsonObject, Outcome
from rig.tasks import ExpectedTurn, Task
from rig.toolbox.rules import TrueCall, is_optional

_MOST_TURNS = 1_000
"""Turns that a view has of a task that does not say which turns it has."""


@dataclass(frozen=True)
class StoredTask:
    """A task made from its view alone. It can be shown and compared, but not played or scored."""

    name: str
    suite: str
    source: JsonObject
    known_turns: tuple[int, ...]
    ground_truth_count: int
    facts: Mapping[str, str]
    closing: tuple[str, ...]
    turns: Mapping[int, ExpectedTurn]

    @classmethod
    def of(cls, row: Mapping[str, Any], source: JsonObject, view: JsonObject) -> "StoredTask":
        """From a row of `conversations`, with `known_turns` as a list, and an empty view if none is stored.

        Raises KeyError, TypeError or ValueError for what rig did not write.
        """
        return cls(
            row["name"],
            row["suite"],
            source,
            tuple(map(int, row["known_turns"])),
            row["ground_truths"],
            {str(name): str(fact) for name, fact in view.get("facts", {}).items()},
            tuple(map(str, view.get("closing", ()))),
            {int(turn): _turn_from_json(data) for turn, data in view.get("turns", {}).items()},
        )

    def expected(self, turn: int) -> ExpectedTurn:
        """What was known beforehand of the assistant turn of this number."""
        return self.turns.get(turn, ExpectedTurn())


def view_of(task: Task) -> JsonObject:
    """What a reader sees of a task: facts, the closing, and by turn what is said, due and replied."""
    return {
        "facts": dict(task.facts),
        "closing": list(task.closing),
        "turns": {str(turn): _turn_json(expected) for turn, expected in _expected(task)},
    }


def _expected(task: Task) -> Iterator[tuple[int, ExpectedTurn]]:
    """The turns of which something is known, by their numbers."""
    if task.known_turns:
        yield from ((turn, task.expected(turn)) for turn in task.known_turns)
    else:
        turns = ((turn, task.expected(turn)) for turn in islice(count(), _MOST_TURNS))
        yield from takewhile(lambda numbered: any(numbered[1]), turns)


def _turn_json(turn: ExpectedTurn) -> JsonObject:
    calls = [
        [call.name, call.arguments, call.response, call.exception, is_optional(call)] for call in turn.calls
    ]
    return {"said": list(turn.said), "calls": calls, "reply": turn.reply}


def _turn_from_json(data: JsonObject) -> ExpectedTurn:
    return ExpectedTurn(tuple(data["said"]), tuple(map(_call, data["calls"])), data["reply"])


def _call(data: list[Any]) -> ExecutedCall:
    name, arguments, response, exception, optional = data
    call, outcome = Call(name, arguments), Outcome(response, exception)
    return TrueCall(call, outcome, optional=True) if optional else ExecutedCall(call, outcome)
