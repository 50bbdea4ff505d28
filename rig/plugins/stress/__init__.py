"""Dials: changes that make a task harder before a model sees it, to find where the model breaks."""

from rig.core.registry import Registry
from rig.plugins.stress.options import Dials

REQUIRES = (
    "own_tools",
    "tooltalk_tools",
)

OWN = {
    "wording": "rig.plugins.stress.wording:WORDING",
    "language": "rig.plugins.stress.wording:LANGUAGE",
    "typos": "rig.plugins.stress.wording:TYPOS",
    "fill": "rig.plugins.stress.fill:FILL",
    "distractors": "rig.plugins.stress.distractors:DISTRACTORS",
    "reorder": "rig.plugins.stress.wording:REORDER",
    "tool_errors": "rig.plugins.stress.tool_errors:TOOL_ERRORS",
    "injections": "rig.plugins.stress.injections:INJECTIONS",
}
"""rig's own dials, in the order in which they are applied."""


def register(registry: Registry) -> None:
    """Register the dials (`rig.core.registry`)."""
    # Their levels are options of runs, so that the neutral ones are known without loading the dials.
    registry.add_options("stress", Dials)
    for name, place in OWN.items():
        registry.dials.later(name, place, neutral=Dials.__dataclass_fields__[name].default)
