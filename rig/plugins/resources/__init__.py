"""Speed and memory beside quality: the smallest file that loses nothing and is fast and small enough here."""

from rig.core.registry import Registry


def register(registry: Registry) -> None:
    """Offer the views (`rig.core.registry`)."""
    registry.views.later(
        "compare --at-least",
        "rig.plugins.resources.verb:of_arms",
        metavar="RATE",
        help="Say instead which file to ship among those that generate this much here, as in 20tok/s.",
    )
    registry.views.later(
        "compare --memory",
        "rig.plugins.resources.verb:of_arms",
        metavar="SIZE",
        help="Say instead which file to ship among those that take no more memory, as in 8GiB.",
    )
