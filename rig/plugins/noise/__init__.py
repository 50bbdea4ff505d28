"""Noise: how much two identical runs differ."""

from rig.core.registry import Registry


def register(registry: Registry) -> None:
    """Offer the verb (`rig.core.registry`)."""
    registry.verbs.later(
        "noise",
        "rig.plugins.noise.verb:command",
        does="Measure how much two identical runs differ.",
        group="Play",
    )
