"""Whether model-made arguments fit a tool: by default against its schema, in upstream's way only by name."""

from rig.calls import Json, JsonObject
from rig.toolbox.errors import ToolError, shown
from rig.toolbox.spec import Tool


def check(tool: Tool, arguments: JsonObject) -> JsonObject:
    """The arguments without the optional ones that are null.

    Raises ToolError for the first argument that is unknown, missing or of a wrong type.
    """
    properties = tool.parameters["properties"]
    required = tool.parameters["required"]
    for name in arguments:
        if name not in properties:
            takes = f"it takes {', '.join(properties)}" if properties else "it takes none"
            raise ToolError(f"{tool.name} has no argument '{shown(name)}'; {takes}.")
    given = {name: value for name, value in arguments.items() if value is not None or name in required}
    for name in required:
        if name not in given:
            raise ToolError(f"{tool.name} needs the argument {name}.")
    for name, value in given.items():
        _check_value(name, value, properties[name])
    return given


def check_names(tool: Tool, arguments: JsonObject) -> None:
    """Raises ToolError where Python would refuse the keyword arguments."""
    for name in arguments:
        if name not in tool.parameters["properties"]:
            raise ToolError(f"{tool.name}.call() got an unexpected keyword argument '{name}'")
    missing = [f"'{name}'" for name in tool.parameters["required"] if name not in arguments]
    if missing:
        count = f"{len(missing)} required positional argument{'s' if len(missing) > 1 else ''}"
        raise ToolError(f"{tool.name}.call() missing {count}: {' and '.join(missing)}")


def _check_value(name: str, value: Json, schema: JsonObject) -> None:
    if schema["type"] == "array":
        if not isinstance(value, list):
            raise ToolError(f"{name} must be a list of strings, not {_kind(value)}.")
        for element in value:
            if not isinstance(element, str):
                raise ToolError(f"{name} must be a list of strings; it holds {_kind(element)}.")
    elif not isinstance(value, str):
        raise ToolError(f"{name} must be a string, not {_kind(value)}.")
    elif "enum" in schema and value not in schema["enum"]:
        raise ToolError(f"{name} must be {' or '.join(schema['enum'])}, not '{shown(value)}'.")


def _kind(value: Json) -> str:
    match value:
        case None:
            return "null"
        case bool():
            return "true or false"
        case int() | float():
            return "a number"
        case str():
            return "a string"
        case list():
            return "a list"
        case _:
            return "an object"
