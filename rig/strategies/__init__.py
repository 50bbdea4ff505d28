"""Strategies that decide by results what is played next: until a verdict, and sweeps."""

from rig.plugins import Registry


def register(registry: Registry) -> None:
    """Offer the strategies (`rig.plugins`)."""
    registry.strategies.later("sweep", "rig.strategies.sweep:SWEEP")
    registry.strategies.later("until", "rig.strategies.until:UNTIL")
