"""ToolTalk: true histories are put to a model turn by turn, and its calls are held against the true ones."""

from typing import Any


def register(registry: Any) -> None:
    """Offer the method (`rig.plugins`)."""
    registry.methods.later("tooltalk", "rig.methods.tooltalk.method:METHOD", roles=("assistant",))
    registry.conversions.later("openai-chat", "rig.methods.tooltalk.logs:OPENAI_CHAT")
