"""Statistics: rates with their intervals, paired differences, sequential tests, agreement of measurements."""

from rig.stats.rates import Estimate, Tallied, Vector, estimates, interval, mean_interval

__all__ = ["Estimate", "Tallied", "Vector", "estimates", "interval", "mean_interval"]
