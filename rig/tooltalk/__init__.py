"""ToolTalk's 28 tools in 7 plugins, each declared once, and the world they act in: the first toolbox."""

from typing import Any

from rig.tooltalk.registry import TOOLTALK

__all__ = ["TOOLTALK", "register"]


def register(registry: Any) -> None:
    """Offer the toolbox (`rig.plugins`)."""
    registry.add_toolbox(TOOLTALK)
