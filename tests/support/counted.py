"""ToolTalk's counts for tests, and what its declaration makes of counts, as attributes."""

from types import SimpleNamespace

from rig.core.metrics import TASKS, Counts
from rig.plugins.tooltalk.scoring import DECLARATION

METRICS = {metric.name: metric for metric in DECLARATION.shown("tables")}
"""The metrics that arms are compared by."""


def counts(
    conversations: int = 1,
    successes: int = 0,
    soft_successes: float = 0.0,
    predictions: int = 0,
    ground_truths: int = 0,
    matches: int = 0,
    actions: int = 0,
    valid_actions: int = 0,
    bad_actions: int = 0,
) -> Counts:
    """Counts by name."""
    return {
        TASKS: conversations,
        **{name: value for name, value in locals().items() if name != "conversations"},
    }


def measured(found: Counts | None) -> SimpleNamespace:
    """Rates and counts of what has been counted."""
    assert found is not None
    return SimpleNamespace(**DECLARATION.as_json({TASKS: 1, **found}))
