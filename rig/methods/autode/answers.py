"""What an assistant's words are: a call between tags, an unreadable call, an end, or talk.

Source: `fetch_assistant` of upstream's evaluation. With `compat`, the verdict is upstream's, except for a
list between the tags: there upstream crashes, and here it is a malformed call.
"""

import json
import re
from collections.abc import Mapping
from typing import Literal, NamedTuple, TypeAlias

from rig.calls import Json, JsonObject

CALL = "<func>"
DONE = "[DONE]"
"""What an assistant ends a conversation with that it cannot serve."""

_TAGGED = re.compile(r"<func>(.*?)</func>", re.DOTALL)
_FENCE = re.compile(r"^```\w*\s*|\s*```$")
_NAME = "functionName"

Kind: TypeAlias = Literal["call", "malformed", "done", "talk"]


class ParsedReply(NamedTuple):
    """What was made of an assistant's words. `text` is what it said, `fault` why a call cannot be read."""

    kind: Kind
    text: str = ""
    function: str | None = None
    slots: JsonObject = {}  # noqa: RUF012 - never changed, and a tuple's default
    fault: str = ""


def read(text: str, *, compat: bool = False) -> ParsedReply:
    """What an assistant's words are. A call comes before an end, and prose around either is ignored.

    With `compat` a tag that is never closed is an empty call, otherwise a malformed one.
    """
    if CALL in text:
        match = _TAGGED.search(text)
        if match is None and not compat:
            return ParsedReply("malformed", text, fault=f"{CALL} is never closed")
        return _call(match.group(1).strip() if match else "{}", text, compat)
    if DONE in text:
        return ParsedReply("done", text.replace(DONE, ""))
    return ParsedReply("talk", text)


def usable(slots: Mapping[str, Json], *, compat: bool = False) -> JsonObject:
    """The arguments that count: truth values, and texts but for blank ones and "null".

    With `compat` numbers, nulls, lists and objects are dropped as upstream does, otherwise nulls alone: a
    value of another type counts as predicted, and is wrong.
    """
    return {
        name: value
        for name, value in slots.items()
        if (isinstance(value, str) and value.strip() and value.lower() != "null")
        or isinstance(value, bool)
        or not (compat or value is None or isinstance(value, str))
    }


def _call(raw: str, text: str, compat: bool) -> ParsedReply:
    try:
        data = json.loads(raw if compat else _FENCE.sub("", raw))
    except (ValueError, RecursionError) as error:
        return ParsedReply("malformed", text, fault=f"not JSON: {error}")
    if not isinstance(data, dict):
        return ParsedReply("malformed", text, fault="not an object with the arguments by name")
    function = data.pop(_NAME, None)
    return ParsedReply(
        "call", text, function if isinstance(function, str) else None, usable(data, compat=compat)
    )
