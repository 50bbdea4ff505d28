"""Earlier predictions: read from files, scored again, executed again, and written for other tools."""

from rig.core.registry import Registry

REQUIRES = (
    "documents",
    "llama",
    "matching",
    "papers",
    "text",
)


def register(registry: Registry) -> None:
    """Offer the verbs (`rig.core.registry`)."""
    registry.verbs.later(
        "score",
        "rig.plugins.rescore.verb:command",
        does="Score stored predictions again, without a model.",
        group="Results",
    )
    registry.views.later(
        "show --diff",
        "rig.plugins.rescore.verb:show_effects",
        help="Below each call of CONVERSATION, show what it changed in the world.",
    )
    registry.verbs.later(
        "adjudicate",
        "rig.plugins.rescore.verb:adjudicate",
        does="Decide on texts that rig cannot judge by itself.",
        group="Results",
    )
