"""Screening: look at files before a run, by how likely they make the true calls."""

from rig.core.registry import Registry

REQUIRES = ("llama",)


def register(registry: Registry) -> None:
    """Offer the verbs (`rig.core.registry`)."""
    registry.verbs.later(
        "screen",
        "rig.plugins.screen.verb:command",
        does="Rank files without generating, in a fraction of the time.",
        group="Play",
    )
