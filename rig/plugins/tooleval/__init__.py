"""ToolEval: an assistant searches for an answer to a query, and the answer is judged as a whole."""

from rig.core.registry import Registry

REQUIRES = (
    "matching",
    "solutions",
    "text",
    "tooltalk_tools",
)


def register(registry: Registry) -> None:
    """Offer the method (`rig.core.registry`)."""
    registry.methods.later(
        "tooleval",
        "rig.plugins.tooleval.method:METHOD",
        roles=("assistant",),
        explained=(),
        shipped=("queries",),
    )
