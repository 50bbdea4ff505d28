"""Statistics: rates with their intervals, paired differences, sequential tests, agreement of measurements."""

from rig.rates.rates import (
    Estimate,
    Tallied,
    Vector,
    clustered_variance,
    estimates,
    interval,
    mean_interval,
    pooled_rate,
)

__all__ = [
    "Estimate",
    "Tallied",
    "Vector",
    "clustered_variance",
    "estimates",
    "interval",
    "mean_interval",
    "pooled_rate",
]
