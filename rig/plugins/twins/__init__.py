"""Served arms beside their files: what differs and why, noted on the arm once it has been played."""

from rig.core.registry import Registry

REQUIRES = (
    "paths",
    "served",
)


def register(registry: Registry) -> None:
    """Offer the comparison as a hook after an arm (`rig.core.registry`)."""
    registry.hooks.later("attribution", "rig.plugins.twins.hook:ATTRIBUTION")
