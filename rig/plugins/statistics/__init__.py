"""The statistics of a comparison: rates, costs, differences with their tests, and flips."""

from rig.core.registry import Registry


def register(registry: Registry) -> None:
    """Offer the statistics as a detail of `rig compare --full` (`rig.core.registry`)."""
    registry.details.later("statistics", "rig.plugins.statistics.text:statistics_text")
