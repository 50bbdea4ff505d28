from rig.core.registry import Registry

REQUIRES = (
    "bundle",
    "lines",
    "llama",
    "served",
    "tooltalk_tools",
    "tui",
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
    registry.verbs.later(
        "config",
        "rig.plugins.doctor.config_verb:command",
        does="Show the settings that apply, and where they come from.",
        group="This machine",
    )
