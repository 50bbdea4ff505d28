"""JSON values that hold calls, in the shapes in which models and APIs write them.

A call is an object with a name and arguments, under whichever of their usual keys; lists and envelopes stand
around calls. What reads answers decides what to make of them: nothing here knows the tools.
"""

from contextlib import suppress
from typing import NamedTuple

from rig.core.calls import Json, JsonObject
from rig.plugins.llama.formats.json_text import JsonError, read_json

_NAMES = (
    *("tool", "name", "function", "tool_name", "function_name", "api_name", "action", "recipient_name"),
    *("toolName", "functionName"),
)
_ARGUMENTS = (
    *("arguments", "parameters", "args", "input", "params", "kwargs", "tool_input", "action_input", "inputs"),
    *("tool_args", "tool_arguments", "tool_parameters", "function_args", "function_arguments", "toolInput"),
)
_LISTS = ("tool_calls", "function_calls", "tool_uses", "toolCalls", "calls", "actions")
_ENVELOPES = (
    *("function", "tool_call", "function_call", "functionCall", "tool_use", "toolCall", "call", "action"),
    *("tool", "command"),
)
BESIDE = frozenset(
    (
        *(
            "id",
            "type",
            "index",
            "tool_call_id",
            "call_id",
            "role",
            "content",
            "refusal",
            "thought",
            "thoughts",
        ),
        *("reason", "reasoning", "rationale", "explanation", "plan", "finish_reason"),
    )
)
"""Keys that a call or an envelope may have beside its own and still be nothing else."""


class WrittenCall(NamedTuple):
    """A call as it was written, under these keys; `others` are keys that belong to no call."""

    name: Json
    arguments: Json
    keys: tuple[str, str]
    is_text: bool = False
    """Whether the arguments were JSON in a text."""
    others: frozenset[str] = frozenset()


class Leaf(NamedTuple):
    """An object that no list and no envelope stands around any more; `others` are the envelopes' keys."""

    value: JsonObject
    envelopes: tuple[str, ...] = ()
    others: frozenset[str] = frozenset()


def leaves(value: Json) -> list[Leaf]:
    """Return the objects in a value's lists and envelopes; none if a list has anything but objects."""
    envelope, inner = _opened(value)
    if not envelope:
        return [Leaf(value)] if isinstance(value, dict) else []
    items = inner if envelope == "list" and isinstance(inner, list) else [inner]
    parts = [leaves(item) for item in items]
    if not all(parts) or any(not isinstance(item, dict | list) for item in items):
        return []
    others = frozenset(value.keys() - {envelope} - BESIDE) if isinstance(value, dict) else frozenset[str]()
    return [
        Leaf(leaf.value, (envelope, *leaf.envelopes), leaf.others | others) for part in parts for leaf in part
    ]


def _opened(value: Json) -> tuple[str, Json]:
    """Return the name of the outermost envelope and what is in it; no name if there is none."""
    if isinstance(value, list):
        return "list", value
    if isinstance(value, dict):
        for name in _LISTS:
            if isinstance(value.get(name), list):
                return name, value[name]
        for name in _ENVELOPES:
            if isinstance(value.get(name), dict) and not value.keys() & {*_ARGUMENTS}:
                return name, value[name]
    return "", value


def call_in(value: JsonObject) -> WrittenCall | None:
    """Return the call that an object is: it has one key for a name and one for arguments."""
    names, keys = ([key for key in group if key in value] for group in (_NAMES, _ARGUMENTS))
    if len(names) != 1 or len(keys) != 1:
        return None
    arguments, is_text = value[keys[0]], False
    if isinstance(arguments, str):
        with suppress(JsonError):  # then it is judged as text
            arguments, is_text = read_json(arguments), True
    others = frozenset(value.keys() - {names[0], keys[0]})
    return WrittenCall(value[names[0]], arguments, (names[0], keys[0]), is_text, others)
