"""The verbs on toolboxes: list, check and import tools, and record what servers answer."""

from rig.core.registry import Registry

REQUIRES = (
    "llama",
    "mcp",
)


def register(registry: Registry) -> None:
    """Offer the verb (`rig.core.registry`)."""
    registry.verbs.later(
        "tools",
        "rig.plugins.tools.verb:tools",
        does="List and check tools, and import your own.",
        group="Models, tools and conversations",
    )
