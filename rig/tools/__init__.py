"""ToolTalk's 28 tools in 7 plugins, each declared once, and the simulator that executes calls of them."""

from rig.tools.registry import TOOLS, tool_docs
from rig.tools.simulator import Simulator
from rig.tools.spec import Equality, Match, Plugin, Response, Text, Tool

__all__ = ["TOOLS", "Equality", "Match", "Plugin", "Response", "Simulator", "Text", "Tool", "tool_docs"]
