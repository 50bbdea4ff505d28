"""Chat templates side by side: what a model reads of the same conversations."""

from rig.core.registry import Registry

REQUIRES = ("llama", "served")


def register(registry: Registry) -> None:
    """Offer the verb (`rig.core.registry`)."""
    registry.verbs.later("models templates", "rig.plugins.templates.verb:command", does="", group="models")
