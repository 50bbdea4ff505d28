"""Dials: changes that make a task harder before a model sees it, to find where the model breaks."""

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
"""rig's own dials, in the order in which they are applied."""


def register(registry: Registry) -> None:
    """Register the dials (`rig.plugins`)."""
    # Their levels are options of the table, so that the neutral ones are known without loading the dials.
    from rig.options import OF_METHODS

    for name, place in OWN.items():
        registry.dials.later(name, place, neutral=OF_METHODS[name].default)
