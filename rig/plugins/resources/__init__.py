"""Speed and memory beside quality: the smallest file that loses nothing and is fast and small enough here."""

from rig.core.registry import Registry


def register(registry: Registry) -> None:
    """Offer the views (`rig.core.registry`)."""
    registry.views.later(
        "compare --at-least=RATE",
        "rig.plugins.resources.verb:of_arms",
        help="Say instead which file to ship among those that generate this much here, as in 20tok/s.",
    )
    registry.views.later(
        "compare --memory=SIZE",
        "rig.plugins.resources.verb:of_arms",
        help="Say instead which file to ship among those that take no more memory, as in 8GiB.",
    )
