"""Loops: turns that make the same calls again and again, and answers that repeat themselves."""

from rig.core.registry import Registry
from rig.plugins.loops.options import LoopOptions


def register(registry: Registry) -> None:
    """Offer the option, the guard that sees loops, and the notes on arms (`rig.core.registry`)."""
    registry.add_options("loops", LoopOptions)
    registry.guards.later("loops", "rig.plugins.loops.guard:LOOPS")
    registry.hooks.later("loops", "rig.plugins.loops.hook:LOOPS_NOTE")
