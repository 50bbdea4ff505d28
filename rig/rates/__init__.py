"""Rates with their intervals, and how far two ways of measuring agree."""

from rig.rates.rates import Estimate, Tallied, Vector, estimates, influences, interval, mean_interval, rate

__all__ = ["Estimate", "Tallied", "Vector", "estimates", "influences", "interval", "mean_interval", "rate"]
