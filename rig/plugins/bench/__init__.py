"""The engine's benchmarks, which only a checkout of rig has."""

from rig.core.registry import Registry


def register(registry: Registry) -> None:
    """Offer the verb (`rig.core.registry`)."""
    registry.verbs.later(
        "bench",
        "rig.plugins.bench.verb:command",
        does="Measure the engine; needs a checkout of rig.",
        group="This machine",
    )
