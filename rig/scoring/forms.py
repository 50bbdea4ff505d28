"""Whether arguments have the form that a tool's schema asks for, whichever simulator executed the call."""

from collections.abc import Iterator
from datetime import datetime

from rig.calls import Json, JsonObject
from rig.toolbox.spec import Tool
from rig.verdicts import Difference

_FORMATS = {"time": ("HH:MM:SS", "%H:%M:%S"), "datetime": ("YYYY-MM-DD HH:MM:SS", "%Y-%m-%d %H:%M:%S")}


def misfits(tool: Tool, arguments: Json) -> Iterator[Difference]:
    """Each argument that is unknown, missing, or of another type or format: what was expected, and got."""
    if not isinstance(arguments, dict):
        yield Difference("arguments", "an object", arguments)
        return
    properties = tool.parameters["properties"]
    for name, value in arguments.items():
        if name not in properties:
            if name != "session_token":
                yield Difference(name, "no such argument", value)
        elif value is None and name not in tool.parameters["required"]:
            continue
        elif (expected := _wanted(properties[name], value)) is not None:
            yield Difference(name, expected, value)
    for name in tool.parameters["required"]:
        if name not in arguments:
            yield Difference(name, "to be given", None)


def _wanted(schema: JsonObject, value: Json) -> str | None:
    """The form that a value should have, None when it has it."""
    if schema["type"] == "array":
        is_list = isinstance(value, list) and all(isinstance(element, str) for element in value)
        return None if is_list else "a list of strings"
    if not isinstance(value, str):
        return "a string"
    if "enum" in schema and value not in schema["enum"]:
        return " or ".join(schema["enum"])
    form, pattern = _FORMATS.get(schema.get("x-format", ""), ("", ""))
    if not pattern:
        return None
    try:
        datetime.strptime(value, pattern)  # noqa: DTZ007 - the dataset has no zones
    except ValueError:
        return form
    return None
