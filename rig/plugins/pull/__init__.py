"""Models of rig's registry, fetched and verified."""

from rig.core.registry import Registry

REQUIRES = ("llama",)


def register(registry: Registry) -> None:
    """Offer the verb (`rig.core.registry`)."""
    registry.verbs.later("models pull", "rig.plugins.pull.verb:command", does="", group="models")
