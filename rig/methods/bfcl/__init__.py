"""BFCL, the Berkeley Function Calling Leaderboard: single questions, and calls checked by its rules."""

from rig.plugins import Registry


def register(registry: Registry) -> None:
    """Offer the method (`rig.plugins`)."""
    registry.methods.later("bfcl", "rig.methods.bfcl.method:METHOD", roles=("assistant",))
    registry.methods.later("bfcl-memory", "rig.methods.bfcl.memory:METHOD", roles=("assistant",))
    registry.methods.later("bfcl-turns", "rig.methods.bfcl.turns:METHOD", roles=("assistant",))
