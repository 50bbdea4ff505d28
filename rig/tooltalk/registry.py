"""All tools, in ToolTalk's order, and what a model is told of them."""

from collections.abc import Collection, Mapping
from types import MappingProxyType

from rig.calls import JsonObject
from rig.errors import RigError
from rig.models import ToolDoc
from rig.toolbox.spec import Tool
from rig.tooltalk import account, alarm, calendar, email, messages, reminder, weather

TOOLS: Mapping[str, Tool] = MappingProxyType(
    {
        tool.name: tool
        for module in (account, alarm, calendar, email, messages, reminder, weather)
        for tool in vars(module).values()
        if isinstance(tool, Tool)
    }
)
"""The 28 tools by name, in the order in which ToolTalk documents them."""


def tool_docs(names: Collection[str] | None = None, *, descriptions: bool = True) -> tuple[ToolDoc, ...]:
    """The documentation of the named tools (all when None), always in the order of `TOOLS`.

    Without descriptions the names, types and what is required remain (ToolTalk, section 4.3). Raises RigError
    for names that are no tool's.
    """
    unknown = [name for name in names or () if name not in TOOLS]
    if unknown:
        raise RigError(f"no tool is named {', '.join(unknown)}")
    return tuple(_doc(tool, descriptions) for tool in TOOLS.values() if names is None or tool.name in names)


def _doc(tool: Tool, descriptions: bool) -> ToolDoc:
    if descriptions:
        return ToolDoc(tool.name, tool.description, tool.parameters, tool.returns)
    properties = {
        name: {**schema, "description": ""} for name, schema in tool.parameters["properties"].items()
    }
    parameters: JsonObject = {**tool.parameters, "properties": properties}
    return ToolDoc(tool.name, "", parameters)
