"""How to serve a file as it was tested: the settings of an arm, in the words of other programs."""

from rig.core.registry import Registry

REQUIRES = (
    "documents",
    "llama",
)


def register(registry: Registry) -> None:
    """Offer the verb (`rig.core.registry`)."""
    registry.verbs.later(
        "serve-command",
        "rig.plugins.serve_commands.verb:command",
        does="Say how to serve a file as it was tested, with other programs.",
        group="Results",
    )
