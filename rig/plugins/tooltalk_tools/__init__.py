"""ToolTalk's 28 tools in 7 plugins, each declared once, and the world they act in: the first toolbox."""

from typing import TYPE_CHECKING, Any

from rig.core.registry import Registry

REQUIRES = ("documents",)

if TYPE_CHECKING:
    from rig.plugins.tooltalk_tools.registry import TOOLTALK

__all__ = ["TOOLTALK", "register"]


def register(registry: Registry) -> None:
    """Offer the toolbox (`rig.core.registry`)."""
    registry.toolboxes.later("tooltalk", "rig.plugins.tooltalk_tools.registry:TOOLTALK")


def __getattr__(name: str) -> Any:
    """Load the toolbox when it is first used."""
    if name != "TOOLTALK":
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    from rig.plugins.tooltalk_tools.registry import TOOLTALK

    return TOOLTALK
