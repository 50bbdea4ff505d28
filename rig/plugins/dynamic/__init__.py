"""ToolTalk's tasks, live: a user talks to the assistant, and the world goes on from the assistant's calls."""

from rig.core.registry import Registry

REQUIRES = (
    "autode",
    "matching",
    "stress",
    "tooltalk",
    "tooltalk_tools",
)


def register(registry: Registry) -> None:
    """Offer the method (`rig.core.registry`)."""
    registry.methods.later(
        "dynamic", "rig.plugins.dynamic.method:METHOD", roles=("assistant", "user"), explained=(), shipped=()
    )
