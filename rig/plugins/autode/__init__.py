"""AutoDE: a user who follows a script talks to an assistant until it makes the wanted call."""

from rig.core.registry import Registry

REQUIRES = (
    "documents",
    "similarity",
    "text",
)


def register(registry: Registry) -> None:
    """Offer the method (`rig.core.registry`)."""
    registry.methods.later(
        "autode",
        "rig.plugins.autode.method:METHOD",
        roles=("assistant", "user"),
        explained=(),
        shipped=("dynamic",),
    )
