"""Suites of conversations made from scenes: every call is executed as it is made, and replayed."""

from rig.core.registry import Registry

REQUIRES = (
    "documents",
    "matching",
    "own_tools",
    "rescore",
    "text",
)


def register(registry: Registry) -> None:
    """Register the suites that are made from their seed when they are first used (`rig.core.registry`)."""
    registry.verbs.later(
        "author",
        "rig.plugins.author.verb:command",
        does="Make suites of conversations from scenes.",
        group="Models, tools and conversations",
    )
    registry.suites.later("medium", "rig.plugins.author.shipped:MEDIUM", method="tooltalk", size=1000)
