"""Everything that rig needs, in one file, for a machine that never had a network."""

from rig.core.registry import Registry

REQUIRES = (
    "llama",
    "mcp",
    "own_tools",
)


def register(registry: Registry) -> None:
    """Offer the verbs (`rig.core.registry`)."""
    registry.verbs.later(
        "bundle",
        "rig.plugins.bundle.verb:command",
        does="Pack everything rig needs into one file for another machine.",
        group="This machine",
    )
    registry.verbs.later(
        "docs",
        "rig.plugins.bundle.verb:docs",
        does="Open the documentation; it needs no network.",
        group="This machine",
    )
