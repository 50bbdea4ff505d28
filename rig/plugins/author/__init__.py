"""Suites of conversations made from scenes: every call is executed as it is made, and replayed."""

from rig.core.registry import Registry


def register(registry: Registry) -> None:
    """Register the suites that are made from their seed when they are first used (`rig.plugins`)."""
    registry.suites.later("medium", "rig.plugins.author.shipped:MEDIUM", method="tooltalk", size=1000)
