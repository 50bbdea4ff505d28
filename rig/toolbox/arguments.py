"""Whether a model's arguments fit a tool: by default by its schema, in upstream's way only by name."""

import re

from rig.calls import Json, JsonObject
from rig.toolbox.errors import ToolError, quoted
from rig.toolbox.schemas import Kind, kind_of, schema_faults
from rig.toolbox.spec import Tool

_ORDER: dict[Kind, int] = {"unknown": 0, "missing": 1, "type": 2, "choice": 2}
"""What is said first. In which form a text has to be is for the tool to say."""


def check(tool: Tool, arguments: JsonObject) -> JsonObject:
    """The arguments without the optional ones that are null.

    Raises ToolError for the first argument that is unknown, missing or of a wrong type.
    """
    refusal = refused(tool, arguments)
    if refusal is not None:
        raise ToolError(refusal)
    required = tool.parameters["required"]
    return {name: value for name, value in arguments.items() if value is not None or name in required}


def refused(tool: Tool, arguments: Json) -> str | None:
    """Why a tool's schema refuses arguments, in words for the model; None if they fit."""
    faults = [fault for fault in schema_faults(tool.parameters, arguments) if fault.kind in _ORDER]
    if not faults:
        return None
    kind, name, needs, value, culprit = min(faults, key=lambda fault: _ORDER[fault.kind])
    if kind == "unknown":
        takes = ", ".join(tool.parameters["properties"]) or "none"
        return f"{tool.name} has no argument '{quoted(name)}'; it takes {takes}."
    if kind == "missing":
        return f"{tool.name} needs the argument {name}."
    if kind == "choice":
        return f"{name} must be {needs}, not '{quoted(culprit)}'."
    if culprit is value:
        return f"{name} must be {needs}, not {kind_of(culprit)}."
    return f"{name} must be {needs}; it holds {kind_of(culprit)}."


def is_refusal(tool: Tool, text: str) -> bool:
    """Whether a text is how the schema of a tool refuses arguments, and not what the tool says itself."""
    name, any_name = re.escape(tool.name), "|".join(map(re.escape, tool.parameters["properties"]))
    forms = (
        rf"{name} has no argument '.*'; it takes .+\.",
        rf"{name} needs the argument (?:{any_name})\.",
        rf"(?:{any_name}) must be .+(?:, not .+|; it holds .+)\.",
    )
    return any(re.fullmatch(form, text, re.DOTALL) for form in forms)


def check_names(tool: Tool, arguments: JsonObject) -> None:
    """Raises ToolError if Python would refuse the keyword arguments."""
    for name in arguments:
        if name not in tool.parameters["properties"]:
            raise ToolError(f"{tool.name}.call() got an unexpected keyword argument '{name}'")
    missing = [f"'{name}'" for name in tool.parameters["required"] if name not in arguments]
    if missing:
        count = f"{len(missing)} required positional argument{'s' if len(missing) > 1 else ''}"
        raise ToolError(f"{tool.name}.call() missing {count}: {' and '.join(missing)}")
