"""What a tool, a toolbox and a world are, and the simulator that executes calls of tools."""

from rig.world.spec import Composed, Equality, Match, Response, Text, Tool, ToolError, tool
from rig.world.toolbox import Simulator, Toolbox
from rig.world.world import Snapshot, World

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
