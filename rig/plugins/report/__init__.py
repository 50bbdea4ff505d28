"""Reports of runs as one file: a page for a browser, Markdown, CSV, and JSON; and cards."""

from rig.core.registry import Registry

REQUIRES = (
    "documents",
    "groups",
    "llama",
    "papers",
    "ranking",
    "resources",
    "similarity",
    "statistics",
)


def register(registry: Registry) -> None:
    """Offer the verbs (`rig.core.registry`)."""
    registry.verbs.later(
        "report",
        "rig.plugins.report.verb:report",
        does="Write a report of runs as one file for a browser.",
        group="Results",
    )
    registry.verbs.later(
        "card",
        "rig.plugins.report.card_verb:command",
        does="Make a card of a model file that others can verify.",
        group="Results",
    )
