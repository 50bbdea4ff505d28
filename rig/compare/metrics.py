"""The rate that verdicts are about, by its name."""

from rig.errors import RigError
from rig.rates import METRICS, Metric


def metric_named(name: str) -> Metric:
    """The metric of this name. Raises RigError for what is none."""
    if name not in METRICS:
        raise RigError(f"no metric {name!r}; there are: {', '.join(METRICS)}")
    return METRICS[name]
