"""What a tool, a toolbox and a world are, and the simulator that executes calls of tools."""

from rig.toolbox.functions import tool
from rig.toolbox.spec import Composed, Equality, Match, Response, Text, Tool, ToolError
from rig.toolbox.toolbox import Simulator, Toolbox
from rig.toolbox.world import Snapshot, World

__all__ = [
    "Composed",
    "Equality",
    "Match",
    "Response",
    "Simulator",
    "Snapshot",
    "Text",
    "Tool",
    "ToolError",
    "Toolbox",
    "World",
    "tool",
]
