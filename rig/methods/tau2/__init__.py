"""τ²-bench in solo mode: an agent works off a ticket with tools, and the world that it leaves is judged."""

from rig.plugins import Registry


def register(registry: Registry) -> None:
    """Offer the method (`rig.plugins`)."""
    registry.methods.later("tau2", "rig.methods.tau2.method:METHOD", roles=("assistant",))
