"""Dials: what is done to a task before a model meets it, to see where the model breaks."""

from rig.plugins import Registry

OWN = {
    "wording": "rig.stress.wording:WORDING",
    "language": "rig.stress.wording:LANGUAGE",
    "typos": "rig.stress.wording:TYPOS",
    "fill": "rig.stress.fill:FILL",
    "distractors": "rig.stress.distractors:DISTRACTORS",
    "reorder": "rig.stress.wording:REORDER",
    "tool_errors": "rig.stress.tool_errors:TOOL_ERRORS",
    "injections": "rig.stress.injections:INJECTIONS",
}
"""rig's own, in the order in which they are applied."""


def register(registry: Registry) -> None:
    """Offer the dials (`rig.plugins`)."""
    # Their levels are options of the table, so that nothing has to be loaded to know which is neutral.
    from rig.options import OF_METHODS

    for name, place in OWN.items():
        registry.dials.later(name, place, neutral=OF_METHODS[name].default)
