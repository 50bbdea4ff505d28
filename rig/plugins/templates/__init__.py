"""Chat templates side by side: what a model reads of the same conversations."""

from rig.core.registry import Registry

REQUIRES = ("llama", "served")


def register(registry: Registry) -> None:
    """Offer the verb, and the comparison as a hook after an arm (`rig.core.registry`)."""
    registry.hooks.later("templates", "rig.plugins.templates.hook:TEMPLATES")
    registry.verbs.later("models templates", "rig.plugins.templates.verb:command", does="", group="models")
