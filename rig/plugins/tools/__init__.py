"""The verbs on tools and suites: list, check and import them, and record what servers answer."""

from rig.core.registry import Registry

REQUIRES = (
    "llama",
    "mcp",
    "own_tools",
)


def register(registry: Registry) -> None:
    """Offer the verbs (`rig.core.registry`)."""
    registry.verbs.later(
        "suites",
        "rig.plugins.tools.suites_verb:command",
        does="List suites of conversations, and start your own.",
        group="Models, tools and conversations",
    )
    registry.verbs.later(
        "check",
        "rig.plugins.tools.suites_verb:check",
        does="Check conversations for mistakes.",
        group="Models, tools and conversations",
    )
    registry.verbs.later(
        "tools",
        "rig.plugins.tools.verb:tools",
        does="List and check tools, and import your own.",
        group="Models, tools and conversations",
    )
