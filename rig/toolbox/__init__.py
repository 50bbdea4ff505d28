"""What a tool, a toolbox and a world are, and the simulator that executes calls of tools."""

from rig.toolbox.errors import ToolError
from rig.toolbox.own.functions import tool
from rig.toolbox.simulator import Simulator
from rig.toolbox.spec import Composed, Equality, Match, Response, Text, Tool
from rig.toolbox.toolbox import Toolbox
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
