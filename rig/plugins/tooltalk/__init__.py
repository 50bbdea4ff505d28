"""ToolTalk: a model gets true histories turn by turn, and its calls are checked against the true ones."""

from rig.core.registry import Registry

REQUIRES = (
    "documents",
    "matching",
    "mcp",
    "own_tools",
    "similarity",
    "stress",
    "tooltalk_tools",
)


def register(registry: Registry) -> None:
    """Offer the method (`rig.core.registry`)."""
    registry.methods.later(
        "tooltalk",
        "rig.plugins.tooltalk.method:METHOD",
        roles=("assistant",),
        explained=(),
        shipped=("easy", "hard"),
        is_default=True,
    )
