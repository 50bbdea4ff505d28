"""AutoDE: a user who follows a script talks to an assistant until it makes the call that was wanted."""

from typing import Any


def register(registry: Any) -> None:
    """Offer the method (`rig.plugins`)."""
    from rig.methods.autode.method import AutoDE
    from rig.methods.base import Method

    method: Method = AutoDE()
    registry.add_method(method)
