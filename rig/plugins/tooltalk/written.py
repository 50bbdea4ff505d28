"""Conversations as people write them: what the user says and which calls the model should make, in YAML or
JSON.

They are converted to ToolTalk's shape, with everything else filled in. docs/tutorials/your-own.md
shows how to write one.
"""

import uuid
from collections.abc import Iterator, Sequence
from contextlib import suppress
from datetime import datetime
from pathlib import Path
from typing import NamedTuple

from rig.core.calls import SIGNED_IN, Call, Json, JsonObject
from rig.core.errors import RigError
from rig.plugins.documents.documents import DocumentPart, read
from rig.plugins.matching import agreement, reasons
from rig.plugins.matching.values import alike
from rig.world.rules import MARK, Rule
from rig.world.toolbox import Simulator

NOW = "2025-01-15 09:00:00"
"""When a conversation takes place if its file does not say."""

DONE, UNDERSTOOD = "Done.", "All right."
"""The assistant's reply if none is written: after calls, and without calls."""

_CONVERSATION = ("name", "tags", "scenario", "now", "location", "user", "notes", "must_not_call", "turns")
_TURN = ("user", "calls", "reply", "order", "must_not_call", "expect")
_OF_CALL = ("returns", "raises", "optional")


SAME = "same"
"""The value of `expect` if the world has to end as the true calls leave it."""


class Expectation(NamedTuple):
    """A call that looks at the world, and what it has to return: a `value`, or a value that a `rule` accepts.

    With `fails`, the call has to fail.
    """

    call: Call
    value: Json = None
    rule: Rule | None = None
    fails: bool = False

    @classmethod
    def from_json(cls, source: Json) -> "Expectation":
        """Read an expectation: `{"call": {tool: arguments}, "returns": …}`. Raises RigError."""
        if not isinstance(source, dict) or not source.keys() <= {"call", "returns", "fails"}:
            raise RigError("expect: needs `same`, or a list of `call` with what it `returns`")
        calls = source.get("call")
        calls = {calls: {}} if isinstance(calls, str) else calls
        if not isinstance(calls, dict) or len(calls) != 1:
            raise RigError("expect: a call names one tool, with its arguments")
        ((name, arguments),) = calls.items()
        if not isinstance(arguments or {}, dict):
            raise RigError(f"expect: the arguments of {name} need names")
        if ("returns" in source) == (source.get("fails") is True):
            raise RigError("expect: a call either `returns` something, or `fails: true`")
        value = source.get("returns")
        rule = agreement.parse(value) or agreement.nested(value)
        return cls(Call(name, arguments or {}), value, rule, source.get("fails") is True)

    def unmet(self, simulator: Simulator) -> str | None:
        """Return a line on why it does not hold in the simulator's world, or None if it holds."""
        executed = simulator.execute(self.call)
        if executed.exception is not None or self.fails:
            is_met = executed.exception is not None and self.fails
            got = f"fails: {executed.exception}" if executed.exception else "does not fail"
        else:
            due, returned, rule = self.value, executed.response, self.rule
            is_met = alike(due, returned) if rule is None else agreement.agrees(rule, due, returned)
            place, due, returned = agreement.first_difference(rule.as_json() if rule else due, returned)
            at = f" at {place.removeprefix('.')}" if place else ""
            got = f"expected {reasons.show(due)}, got {reasons.show(returned)}{at}"
        return None if is_met else f"{self.call.name} {reasons.show(self.call.arguments)} in the end: {got}"


Expected = Sequence[Expectation] | None
"""What is expected at the end of a turn: these, or with None the world that the true calls leave."""


def parse_expected(source: Json) -> Expected:
    """Read what is stored under `expect`. Raises RigError."""
    if source == SAME:
        return None
    if not isinstance(source, list) or not source:
        raise RigError("expect: needs `same`, or a list of `call` with what it `returns`")
    return tuple(map(Expectation.from_json, source))


def read_written(file: Path) -> list[JsonObject]:
    """Read the conversations of a file, in ToolTalk's shape. Raises RigError with the place of a fault."""
    parts = list(conversation_parts(file))
    if len(parts) == 1:
        return [_conversation(parts[0], file.stem)]
    return [_conversation(part, f"{file.stem}-{number}") for number, part in enumerate(parts, 1)]


def conversation_parts(file: Path) -> Iterator[DocumentPart]:
    """Yield the parts of a file that are conversations: one, a list of them, or just the turns of one."""
    for document in read(file):
        values = document.value if isinstance(document.value, list) else [{}]
        are_turns = bool(values) and all(isinstance(value, dict) and "turns" not in value for value in values)
        yield from (document,) if are_turns else document.items()


def turn_parts(conversation: DocumentPart) -> Iterator[DocumentPart]:
    """Return the parts of a conversation that are its turns."""
    if isinstance(conversation.value, list):
        return conversation.items()
    fields = conversation.known_fields(_CONVERSATION)
    if "turns" not in fields:
        raise conversation.fault("a conversation needs turns")
    return fields["turns"].items()


def call_parts(turn: DocumentPart) -> list[DocumentPart]:
    """Return the parts of a turn that are its calls."""
    fields = turn.known_fields(_TURN)
    return list(fields["calls"].items()) if fields.get("calls", turn).value and "calls" in fields else []


def _conversation(part: DocumentPart, name: str) -> JsonObject:
    fields = {} if isinstance(part.value, list) else part.known_fields(_CONVERSATION)
    name = fields["name"].text() if "name" in fields else name
    if any("\ud800" <= character <= "\udfff" for character in name):
        raise part.fault("its name holds half of a surrogate pair, which no text has; write the character")
    forbidden = fields["must_not_call"].texts() if "must_not_call" in fields else []
    turns = [entry for turn in turn_parts(part) for entry in _turn(turn, forbidden)]
    called = {call["request"]["api_name"] for turn in turns for call in turn.get("apis", ())}
    if wrong := [name for name in forbidden if name in called]:
        text = f"{wrong[0]} is called in this conversation; write it in the turns that must not call it"
        raise fields["must_not_call"].fault(text)
    if not turns:
        raise part.fault("a conversation needs a turn at least")
    due = (call["request"]["api_name"] for turn in turns for call in turn.get("apis", ()))
    used = dict.fromkeys([*due, *(name for turn in turns for name in turn.get("must_not_call", ()))])
    user = fields["user"].text() if "user" in fields else None
    metadata: JsonObject = {part: fields[part].text() for part in ("location", "notes") if part in fields}
    metadata["timestamp"] = _instant(fields["now"]) if "now" in fields else NOW
    signed_in = {"session_token": SIGNED_IN} if user is not None else {}
    return {
        "name": name,
        "conversation_id": str(uuid.uuid5(uuid.NAMESPACE_OID, f"{part.file.stem} {name}")),
        "tags": fields["tags"].texts() if "tags" in fields else [],
        "apis_used": list(used),
        "scenario": fields["scenario"].text() if "scenario" in fields else "",
        "user": {"username": user or "", **signed_in},
        "metadata": {**metadata, **({"username": user, **signed_in} if user is not None else {})},
        "conversation": [{"index": index, **turn} for index, turn in enumerate(turns)],
    }


def _instant(part: DocumentPart) -> str:
    try:
        # Not strftime, which leaves years before 1000 unpadded, so that they cannot be read back.
        return datetime.fromisoformat(part.text()).replace(tzinfo=None).isoformat(" ", "seconds")
    except ValueError as error:
        raise part.fault(f"needs a date and time, such as {NOW}") from error


def _turn(part: DocumentPart, forbidden: Sequence[str]) -> Iterator[JsonObject]:
    """Yield a user's turn for each text, and the assistant's turn that follows."""
    fields = part.known_fields(_TURN)
    if "user" not in fields:
        raise part.fault("a turn needs what the user says")
    calls = [_call(call_part) for call_part in call_parts(part)]
    yield from ({"role": "user", "text": text} for text in fields["user"].texts())
    reply = fields["reply"].text() if "reply" in fields else DONE if calls else UNDERSTOOD
    answer: JsonObject = {"role": "assistant", "text": reply, **({"apis": calls} if calls else {})}
    if "order" in fields:
        answer["order"] = fields["order"].text()
        if answer["order"] not in ("any", "given"):
            raise fields["order"].fault(f"is any or given, not {answer['order']}")
    own = fields["must_not_call"].texts() if "must_not_call" in fields else []
    due = dict.fromkeys(call["request"]["api_name"] for call in calls)
    if wrong := [name for name in due if name in own]:
        raise fields["must_not_call"].fault(f"{wrong[0]} is due in this turn and must not be called in it")
    if forbidden or own:
        answer["must_not_call"] = [name for name in (*forbidden, *own) if name not in due]
    if "expect" in fields:
        try:
            parse_expected(fields["expect"].value)
        except RigError as error:
            raise fields["expect"].fault(str(error).removeprefix("expect: ")) from error
        answer["expect"] = fields["expect"].value
    yield answer


def _call(part: DocumentPart) -> JsonObject:
    name, arguments, fields = _parts_of_call(part)
    parameters, written = {}, {}
    for argument, value in arguments.items():
        try:
            rule = agreement.parse(value.value) or agreement.nested(value.value)
        except RigError as error:
            raise value.fault(str(error)) from error
        if rule is not None and rule.name in ("one_of", "set") and any(map(_is_rule, rule.of)):
            raise value.fault(f"${rule.name} takes values, and reads no rules among them")
        if rule is not None:
            written[argument] = rule.as_json()
        # A rule without an example leaves its argument out.
        with suppress(LookupError):
            parameters[argument] = value.value if rule is None else agreement.example_of(rule)
    call: JsonObject = {"request": {"api_name": name, "parameters": parameters}}
    call |= {"rules": written} if written else {}
    if "optional" in fields and fields["optional"].flag():
        call["optional"] = True
    if "returns" in fields and "raises" in fields:
        raise fields["raises"].fault("a call returns something or raises, not both")
    if "returns" in fields:
        call |= {"response": fields["returns"].value, "exception": None}
    if "raises" in fields:
        call |= {"response": None, "exception": fields["raises"].text()}
    return call


def _is_rule(value: Json) -> bool:
    return isinstance(value, dict) and any(f"{MARK}{name}" in value for name in agreement.names())


def _parts_of_call(part: DocumentPart) -> tuple[str, dict[str, DocumentPart], dict[str, DocumentPart]]:
    """Return the tool's name, the arguments, and the other fields of a call."""
    if isinstance(part.value, str):
        return part.text(), {}, {}
    fields = part.fields()
    if "tool" in fields and isinstance(fields["tool"].value, str):
        every = part.known_fields(("tool", "arguments", *_OF_CALL))
        name, inside = fields["tool"].text(), every.get("arguments")
    else:
        names = [name for name in fields if name not in _OF_CALL]
        if len(names) != 1:
            there_are = f"{', '.join(names)}" if names else "none"
            raise part.fault(f"a call names one tool, here are: {there_are} (beside {', '.join(_OF_CALL)})")
        name, inside = names[0], fields[names[0]]
    arguments = {} if inside is None or inside.value is None else inside.fields()
    return name, arguments, {extra: fields[extra] for extra in _OF_CALL if extra in fields}
