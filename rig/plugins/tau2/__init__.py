"""τ²-bench: an agent settles a ticket or talks to a customer, and the final world is judged."""

from rig.core.registry import Registry

REQUIRES = (
    "defects",
    "documents",
    "own_tools",
)


def register(registry: Registry) -> None:
    """Offer the method (`rig.core.registry`)."""
    registry.methods.later(
        "tau2", "rig.plugins.tau2.method:METHOD", roles=("assistant",), explained=(), shipped=()
    )
    registry.methods.later(
        "tau2-user",
        "rig.plugins.tau2.customers:METHOD",
        roles=("assistant", "user"),
        explained=(),
        shipped=(),
    )
