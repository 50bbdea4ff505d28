"""Building a conversation line by line, with calls that are executed as they are made."""

import uuid
from collections.abc import Callable, Mapping
from functools import cached_property
from typing import Any, Literal, NamedTuple

from rig.core.calls import SESSION_TOKEN, Call, Json, JsonObject, Outcome, without_token
from rig.world.rules import Rule, TrueCall
from rig.world.toolbox import Simulator, Toolbox


class ToolRefusal(Exception):
    """A call failed that a scene expects to succeed, or the other way round."""


class SpokenLine(NamedTuple):
    """What one side says, and the calls that it makes before."""

    role: Literal["user", "assistant"]
    text: str
    calls: tuple[TrueCall, ...] = ()
    extras: Mapping[str, Json] = {}


class ConversationDraft:
    """A conversation that is built line by line: the user speaks, tools are called, the assistant replies.

    `begin` makes the simulator that executes the calls; it runs when the first call is made.
    """

    def __init__(self, begin: Callable[[], Simulator]) -> None:
        self._begin = begin
        self.turns: list[SpokenLine] = []
        self._calls: list[TrueCall] = []

    @cached_property
    def simulator(self) -> Simulator:
        """The simulator that executes the calls."""
        return self._begin()

    @property
    def calls(self) -> list[TrueCall]:
        """Every call so far."""
        return [*(call for turn in self.turns for call in turn.calls), *self._calls]

    def say(self, text: str) -> None:
        """Add a line of the user."""
        self.turns.append(SpokenLine("user", text))

    def call(
        self,
        call: Call,
        *,
        fails: bool = False,
        rules: Mapping[str, Rule] | None = None,
        optional: bool = False,
        recorded: Outcome | None = None,
    ) -> Json:
        """Make a call and return its response; `recorded` is the answer of a tool that has no code.

        Raises ToolRefusal if it fails though it should not, or succeeds though `fails` is set.
        """
        truth = TrueCall(call, recorded or Outcome(), None, rules or {}, optional, recorded is not None)
        self.simulator.world.remember([truth])
        executed = self.simulator.execute(call)
        if (executed.exception is not None) != fails:
            raise ToolRefusal(f"{call.name}({call.arguments}): {executed.exception or 'does not fail'}")
        self._calls.append(TrueCall(executed.call, executed.outcome, None, rules or {}, optional))
        return executed.response

    def reply(self, text: str, **extras: Json) -> None:
        """Add the assistant's reply, with the calls that were made since the last one."""
        self.turns.append(SpokenLine("assistant", text, tuple(self._calls), extras))
        self._calls = []

    def last(self, tool: str) -> Any:
        """Return the response to the last call of a tool."""
        return next(call.response for call in reversed(self.calls) if call.name == tool)

    def source(self, name: str, toolbox: Toolbox, **parts: Json) -> JsonObject:
        """Return the conversation in ToolTalk's shape; `parts` are the user, the metadata and the like."""
        used = list(dict.fromkeys(call.name for call in self.calls))
        parts["tags"] = parts.get("tags", [])
        return {
            "name": name,
            "conversation_id": str(uuid.uuid5(uuid.NAMESPACE_OID, name)),
            "suites_used": list(dict.fromkeys(toolbox.tools[tool].plugin for tool in used)),
            "apis_used": used,
            **parts,
            "conversation": [_turn(index, turn) for index, turn in enumerate(self.turns)],
        }


def _turn(index: int, turn: SpokenLine) -> JsonObject:
    written: JsonObject = {"index": index, "role": turn.role, "text": turn.text, **turn.extras}
    return {**written, "apis": [_call(call) for call in turn.calls]} if turn.calls else written


def _call(call: TrueCall) -> JsonObject:
    token = {name: value for name, value in call.arguments.items() if name == SESSION_TOKEN}
    written: JsonObject = {
        "request": {"api_name": call.name, "parameters": {**token, **without_token(call.arguments)}},
        **call.outcome.as_json(),
    }
    if call.rules:
        written["rules"] = {name: rule.as_json() for name, rule in call.rules.items()}
    return {**written, "optional": True} if call.optional else written
