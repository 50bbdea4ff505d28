from rig.core.registry import Registry

REQUIRES = (
    "bundle",
    "llama",
    "served",
    "tooltalk_tools",
)


def register(registry: Registry) -> None:
    """Offer the verbs (`rig.core.registry`)."""
    registry.verbs.later(
        "doctor",
        "rig.plugins.doctor.verb:command",
        does="Check that everything a run needs is in place.",
        group="This machine",
    )
    registry.verbs.later(
        "world",
        "rig.plugins.doctor.verb:world",
        does="Build or check the mock world.",
        group="Models, tools and conversations",
    )
