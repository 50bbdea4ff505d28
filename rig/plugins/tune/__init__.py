"""Making model files from others: merging adapters, quantizing weights."""

from rig.core.registry import Registry

REQUIRES = (
    "llama",
    "report",
    "resources",
    "screen",
    "strategies",
)


def register(registry: Registry) -> None:
    """Offer the verbs (`rig.core.registry`)."""
    registry.verbs.later("models quantize", "rig.plugins.tune.verbs:quantize", does="", group="models")
    registry.verbs.later("models merge", "rig.plugins.tune.verbs:merge", does="", group="models")
    registry.verbs.later("models calibrate", "rig.plugins.tune.verbs:calibrate", does="", group="models")
    registry.verbs.later("models tune", "rig.plugins.tune.tune_verb:command", does="", group="models")
