"""Tools without code: they answer a true call of the conversation with its recorded response."""

import json
from collections.abc import Iterable, Mapping
from typing import ClassVar, NamedTuple

from rig.calls import Json, JsonObject
from rig.toolbox import rules
from rig.toolbox.errors import ToolError
from rig.toolbox.own.listing import UNSAID, ToolDeclaration
from rig.toolbox.rules import ABSENT, Rule, TrueCall
from rig.toolbox.world import RECORDED_CALLS, World

DONE: Mapping[str, Json] = {"status": "ok"}
"""What a true call is answered with, where nothing is recorded and its tool declares nothing."""


class RecordedWorld(World):
    """Knows the true calls of the conversation that is played, and which of them have been answered."""

    schema: ClassVar[str] = (
        f"CREATE TABLE {RECORDED_CALLS} (number INTEGER PRIMARY KEY, tool TEXT NOT NULL, call TEXT NOT NULL,"
        " answered INTEGER NOT NULL DEFAULT 0);\n"
    )

    def remember(self, recorded: Iterable[TrueCall]) -> None:
        for number, truth in enumerate(recorded):
            call = {
                "arguments": truth.arguments,
                "match": {name: rule.as_json() for name, rule in truth.rules.items()},
                "outcome": truth.outcome.as_json() if truth.recorded else None,
            }
            row = {"number": number, "tool": truth.name, "call": json.dumps(call), "answered": 0}
            self.database.table(RECORDED_CALLS).insert(row)


class _Recorded(NamedTuple):
    """A true call as it lies in the world."""

    number: int
    answered: bool
    arguments: JsonObject
    rules: Mapping[str, Rule]
    outcome: Mapping[str, Json] | None

    def rank(self, arguments: JsonObject) -> tuple[bool, bool, int]:
        """What is answered with first: the very same call, one that was not answered, else the latest."""
        return self.arguments != arguments, self.answered, -self.number if self.answered else self.number


def answer(declared: ToolDeclaration, world: World, /, **arguments: Json) -> Json:
    """The function of a tool that has no code."""
    fitting = [call for call in _true_calls(world, declared.name) if _fits(declared, call, arguments)]
    if not fitting:
        if declared.default is UNSAID:
            raise ToolError(f"{declared.name} has no answer to this call.")
        return declared.default
    chosen = min(fitting, key=lambda call: call.rank(arguments))
    world.database.table(RECORDED_CALLS).update(chosen.number, {"answered": 1})
    if chosen.outcome is None:
        return dict(DONE) if declared.default is UNSAID else declared.default
    if chosen.outcome["exception"] is not None:
        raise ToolError(str(chosen.outcome["exception"]))
    return chosen.outcome["response"]


def _true_calls(world: World, tool: str) -> Iterable[_Recorded]:
    rows = world.database.execute(
        f"SELECT number, answered, call FROM {RECORDED_CALLS} WHERE tool = ? ORDER BY number", [tool]
    )
    for number, answered, text in rows.fetchall():
        call = json.loads(text)
        ruled = {name: rules.parse(rule) for name, rule in call["match"].items()}
        present = {name: rule for name, rule in ruled.items() if rule is not None}
        yield _Recorded(number, bool(answered), call["arguments"], present, call["outcome"])


def _fits(declared: ToolDeclaration, true: _Recorded, arguments: JsonObject) -> bool:
    """Whether a call is this true one, as far as that can be told without judging free texts."""
    for name in {**true.arguments, **true.rules}:
        rule = true.rules.get(name) or declared.match.get(name) or Rule("exact")
        if not rule.is_text and not rule.agrees(true.arguments.get(name), arguments.get(name, ABSENT)):
            return False
    return True
