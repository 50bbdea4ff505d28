"""Paths: where two arms part in the conversations that only one of them gets right."""

from rig.core.registry import Registry

REQUIRES = ("matching",)


def register(registry: Registry) -> None:
    """Offer the view (`rig.core.registry`)."""
    registry.views.later(
        "compare --paths",
        "rig.plugins.paths.verb:of_arms",
        help="Show where the arms part instead: the first token that differs in each flip, and what follows.",
    )
