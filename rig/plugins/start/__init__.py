"""The way in: fetched model files, and from those on this machine to a run, with a few keys."""

from rig.core.registry import Registry

REQUIRES = (
    "llama",
    "mcp",
    "tui",
)


def register(registry: Registry) -> None:
    """Offer the verbs (`rig.core.registry`)."""
    registry.verbs.later(
        "start",
        "rig.plugins.start.verb:command",
        does="Choose among the model files on this machine, and run them.",
        group="Play",
    )
    registry.verbs.later("models pull", "rig.plugins.start.pull_verb:command", does="", group="models")
