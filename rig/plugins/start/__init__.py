"""The way in: from the model files on this machine to a run, with a few keys."""

from rig.core.registry import Registry

REQUIRES = (
    "llama",
    "mcp",
    "tui",
)


def register(registry: Registry) -> None:
    """Offer the verb (`rig.core.registry`)."""
    registry.verbs.later(
        "start",
        "rig.plugins.start.verb:command",
        does="Choose among the model files on this machine, and run them.",
        group="Play",
    )
