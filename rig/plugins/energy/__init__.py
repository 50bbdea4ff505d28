"""What CPU packages and GPUs use, in energy and memory."""

from rig.core.registry import Registry


def register(registry: Registry) -> None:
    """Offer the meter of this machine (`rig.core.registry`)."""
    registry.meters.later("energy", "rig.plugins.energy.meter:EnergyMeter")
