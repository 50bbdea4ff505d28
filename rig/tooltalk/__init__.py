"""ToolTalk's 28 tools in 7 plugins, each declared once, and the world they act in: the first toolbox."""

from rig.tooltalk.registry import TOOLS, tool_docs

__all__ = ["TOOLS", "tool_docs"]
