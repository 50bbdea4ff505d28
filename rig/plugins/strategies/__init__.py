"""Decide by results what is played next: until a verdict, and sweeps; and look while a run goes on."""

from rig.core.registry import Registry
from rig.plugins.strategies.options import Strategies


def register(registry: Registry) -> None:
    """Offer the strategies (`rig.core.registry`)."""
    registry.add_options("Strategies", Strategies)
    registry.strategies.later("sweep", "rig.plugins.strategies.sweep:SWEEP")
    registry.strategies.later("until", "rig.plugins.strategies.until:UNTIL")
    registry.evidence.later("until", "rig.plugins.strategies.early:bounds_on")
    registry.trends.later("curves", "rig.plugins.strategies.curves:curves")
    registry.trends.later("spreads", "rig.plugins.strategies.curves:spreads")
    registry.views.later(
        "compare --curve",
        "rig.plugins.strategies.curve_verb:curve",
        help="Say instead where success breaks over the levels of an option, as in --sweep: success level by"
        " level, and a sentence for each file, which hold however often you look.",
    )
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
