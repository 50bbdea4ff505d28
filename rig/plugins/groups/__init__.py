"""Where models succeed: by tool, by skill of calling, by tag and by suite."""

from rig.core.registry import Registry


def register(registry: Registry) -> None:
    """Offer groups as a view of `rig show`, and skills as a table of it (`rig.core.registry`)."""
    registry.tables.later("skills", "rig.plugins.groups.text:skills_text")
    registry.views.later(
        "show --by",
        "rig.plugins.groups.verb:by_groups",
        help="Break each arm's results down by tool, by skill (tool selection, argument correctness,"
        " abstention), by the tags of conversations, or by suite.",
        choices=("tool", "skill", "tag", "suite"),
    )
