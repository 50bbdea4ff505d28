"""ToolTalk's tasks, live: a user talks to the assistant, and the world goes on from the assistant's calls."""

from typing import Any


def register(registry: Any) -> None:
    """Offer the method (`rig.plugins`)."""
    from rig.methods.base import Method
    from rig.methods.dynamic.method import Dynamic

    method: Method = Dynamic()
    registry.add_method(method)
