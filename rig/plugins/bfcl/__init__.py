"""BFCL, the Berkeley Function Calling Leaderboard: single questions, and calls checked by its rules."""

from rig.config.options import Option
from rig.core.registry import Registry

REQUIRES = (
    "defects",
    "documents",
    "own_tools",
    "similarity",
)

FORM = Option(
    "form",
    "none",
    several=True,
    commas=True,
    help="ask for calls as text, such as json:tag:xml; all 26 forms with all. No grammar holds it",
)
"""How calls are asked for. The method's own option also knows the forms."""


def register(registry: Registry) -> None:
    """Offer the method (`rig.core.registry`)."""
    registry.methods.later(
        "bfcl", "rig.plugins.bfcl.method:METHOD", roles=("assistant",), explained=(FORM,), shipped=()
    )
    registry.methods.later(
        "bfcl-memory", "rig.plugins.bfcl.memory:METHOD", roles=("assistant",), explained=(), shipped=()
    )
    registry.methods.later(
        "bfcl-turns", "rig.plugins.bfcl.turns:METHOD", roles=("assistant",), explained=(), shipped=()
    )
