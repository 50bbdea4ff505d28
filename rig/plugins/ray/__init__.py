"""Models on other machines: each Ray actor holds one, and together they are used like any other model.

Importing this package does not import Ray or open any connection; the scheme and what it loads do.
"""

from rig.core.registry import Registry

REQUIRES = (
    "llama",
    "served",
)


def register(registry: Registry) -> None:
    """Offer Ray as a place for models (`rig.core.registry`)."""
    registry.schemes.later("ray", "rig.plugins.ray.workers:RAY", marker="", is_place=True)
