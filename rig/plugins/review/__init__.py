"""Suites reviewed by hand: a person keeps, changes or drops each conversation."""

from rig.core.registry import Registry

REQUIRES = (
    "author",
    "documents",
)


def register(registry: Registry) -> None:
    """Offer the verb, a member of `rig author` (`rig.core.registry`)."""
    registry.verbs.later("author review", "rig.plugins.review.verb:command", does="", group="author")
