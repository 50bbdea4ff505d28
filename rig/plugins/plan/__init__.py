"""How much has to be played for a verdict, and how long it takes, before anything is played."""

from rig.core.registry import Registry


def register(registry: Registry) -> None:
    """Offer the verb (`rig.core.registry`)."""
    registry.verbs.later(
        "plan",
        "rig.plugins.plan.verb:command",
        does="Say how much has to be played for a verdict, and how long it takes.",
        group="Play",
    )
