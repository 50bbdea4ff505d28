"""Strategies that decide by results what is played next: until a verdict, and sweeps."""

from rig.core.registry import Registry


def register(registry: Registry) -> None:
    """Offer the strategies (`rig.core.registry`)."""
    registry.strategies.later("sweep", "rig.plugins.strategies.sweep:SWEEP")
    registry.strategies.later("until", "rig.plugins.strategies.until:UNTIL")
