"""What is said about a model in the same words whoever runs it: how it may answer, and its chat template."""

import re
from contextlib import suppress
from typing import Literal, TypeAlias

from rig.core.budget import parse_json
from rig.core.calls import Json, JsonObject
from rig.core.errors import RigError

CHOICES = ("auto", "required", "none")
"""A model may, must or must not call tools: what `tool_choice` can be besides the tool to call."""
GrammarArm: TypeAlias = Literal["json", "strict", "none"]
"""A legal call of a known tool or a reply; the same with formats of dates and the like; or any text."""
ThinkingArm: TypeAlias = Literal["auto", "on", "off"]
"""The default of the chat template, or its switch turned on or off."""
LeakedCalls: TypeAlias = Literal["lenient", "strict"]
"""Calls that are written in another form than the family's are carried out, or are words."""
GIVEN = frozenset(
    (
        *("messages", "tools", "xml_tools", "functions", "add_generation_prompt"),
        *("bos_token", "eos_token", "strftime_now", "datetime", "raise_exception"),
    )
)
"""The names that rig gives to every chat template itself."""
_NAME = re.compile(r"([A-Za-z_]\w*)=(.*)", re.DOTALL)
_TYPED = re.compile(r'true|false|null|-?\d{1,15}(?:\.\d{1,15})?|".*"', re.DOTALL)


def assignments(text: str | None) -> JsonObject:
    """Return the values of an arm by name, from `NAME=VALUE,NAME=VALUE`. Raises RigError."""
    return {name: typed(values[0]) for name, values in read_assignments(text).items()}


def typed(text: str) -> Json:
    """Return a value as JSON if it is a truth value, a number, null or in quotes; else it is a text."""
    with suppress(ValueError):
        value: Json = parse_json(text) if _TYPED.fullmatch(text) else text
        return value
    return text


def read_assignments(text: str | None, *, once: bool = False) -> dict[str, list[str]]:
    """Return the values of each variable by name.

    Raises RigError for what assigns nothing and, with `once`, for a variable with several values.
    """
    read: dict[str, list[str]] = {}
    for part in text.split(",") if text else ():
        if match := _NAME.fullmatch(part.strip()):
            if match[1] in read:
                raise RigError(f"--template-set {text}: {match[1]} is there twice")
            if match[1] in GIVEN:
                raise RigError(f"--template-set {match[1]}: rig itself sets that")
            read[match[1]] = [match[2]]
        elif read:
            read[next(reversed(read))].append(part)
        else:
            raise RigError(f"--template-set {text}: give NAME=VALUE, or NAME=VALUE,VALUE for an arm each")
    if once and any(len(values) > 1 for values in read.values()):
        raise RigError(f"--template-set {text}: two of the variables are set in two ways")
    return read
