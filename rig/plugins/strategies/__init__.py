"""Strategies that decide by results what is played next: until a verdict, and sweeps."""

from rig.core.registry import Registry
from rig.plugins.strategies.options import Strategies


def register(registry: Registry) -> None:
    """Offer the strategies (`rig.core.registry`)."""
    registry.add_options("Strategies", Strategies)
    registry.strategies.later("sweep", "rig.plugins.strategies.sweep:SWEEP")
    registry.strategies.later("until", "rig.plugins.strategies.until:UNTIL")
