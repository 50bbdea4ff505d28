"""Tasks as a person reads them: a view of each is stored, so that a run can be read without its method."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from itertools import takewhile
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
            {int(turn): _turn(**data) for turn, data in view.get("turns", {}).items()},
        )

    def expected(self, turn: int) -> ExpectedTurn:
        """What was known beforehand of the assistant turn of this number."""
        return self.turns.get(turn, ExpectedTurn())


def view_of(task: Task) -> JsonObject:
    """What a reader sees of a task: facts, the closing, and by turn what is said, due and replied."""
    numbers = task.known_turns or range(_MOST_TURNS)
    turns: Iterable[tuple[int, ExpectedTurn]] = ((turn, task.expected(turn)) for turn in numbers)
    if not task.known_turns:
        turns = takewhile(lambda numbered: any(numbered[1]), turns)
    return {
        "facts": dict(task.facts),
        "closing": list(task.closing),
        "turns": {
            str(turn): {
                "said": list(expected.said),
                "calls": [
                    [call.name, call.arguments, call.response, call.exception, is_optional(call)]
                    for call in expected.calls
                ],
                "reply": expected.reply,
            }
            for turn, expected in turns
        },
    }


def _turn(said: list[str], calls: list[Any], reply: str) -> ExpectedTurn:
    due = []
    for name, arguments, response, exception, optional in calls:
        call, outcome = Call(name, arguments), Outcome(response, exception)
        due.append(TrueCall(call, outcome, optional=True) if optional else ExecutedCall(call, outcome))
    return ExpectedTurn(tuple(said), tuple(due), reply)
