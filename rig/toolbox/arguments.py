"""Whether a model's arguments fit a tool: by default by its schema, in upstream's way only by name."""

from rig.calls import JsonObject
from rig.toolbox.errors import ToolError, shown
from rig.toolbox.schemas import Kind, Misfit, kind_of, misfits
from rig.toolbox.spec import Tool

_ORDER: dict[Kind, int] = {"unknown": 0, "missing": 1, "type": 2, "choice": 2}
"""What is said first. In which form a text has to be is for the tool to say."""


def check(tool: Tool, arguments: JsonObject) -> JsonObject:
    """The arguments without the optional ones that are null.

    Raises ToolError for the first argument that is unknown, missing or of a wrong type.
    """
    found = [each for each in misfits(tool.parameters, arguments) if each.kind in _ORDER]
    if found:
        raise ToolError(_refusal(tool, min(found, key=lambda each: _ORDER[each.kind])))
    required = tool.parameters["required"]
    return {name: value for name, value in arguments.items() if value is not None or name in required}


def check_names(tool: Tool, arguments: JsonObject) -> None:
    """Raises ToolError if Python would refuse the keyword arguments."""
    for name in arguments:
        if name not in tool.parameters["properties"]:
            raise ToolError(f"{tool.name}.call() got an unexpected keyword argument '{name}'")
    missing = [f"'{name}'" for name in tool.parameters["required"] if name not in arguments]
    if missing:
        count = f"{len(missing)} required positional argument{'s' if len(missing) > 1 else ''}"
        raise ToolError(f"{tool.name}.call() missing {count}: {' and '.join(missing)}")


def _refusal(tool: Tool, misfit: Misfit) -> str:
    name, wanted, culprit = misfit.name, misfit.wanted, misfit.culprit
    match misfit.kind:
        case "unknown":
            properties = tool.parameters["properties"]
            takes = f"it takes {', '.join(properties)}" if properties else "it takes none"
            return f"{tool.name} has no argument '{shown(name)}'; {takes}."
        case "missing":
            return f"{tool.name} needs the argument {name}."
        case "choice":
            return f"{name} must be {wanted}, not '{shown(culprit)}'."
        case _ if culprit is misfit.value:
            return f"{name} must be {wanted}, not {kind_of(culprit)}."
        case _:
            return f"{name} must be {wanted}; it holds {kind_of(culprit)}."
