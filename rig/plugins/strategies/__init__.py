"""Decide by results what is played next: until a verdict, and sweeps; and look while a run goes on."""

from rig.core.registry import Registry
from rig.plugins.strategies.options import Strategies


def register(registry: Registry) -> None:
    """Offer the strategies (`rig.core.registry`)."""
    registry.add_options("Strategies", Strategies)
    registry.strategies.later("sweep", "rig.plugins.strategies.sweep:SWEEP")
    registry.strategies.later("until", "rig.plugins.strategies.until:UNTIL")
    looks = "rig.plugins.strategies.looks_verb:sequential"
    registry.views.later(
        "compare --sequential",
        looks,
        help="Say instead whether each arm loses as much as --loss, using tests that you may repeat after"
        " every conversation.",
    )
    registry.views.later(
        "compare --in-suite",
        looks,
        help="With --sequential, decide about this suite alone, not about conversations like these. One of"
        " two equally good files gets more of a small suite right, and the other then shows a loss.",
    )
