"""Screening: how likely models make the true calls, without generating, and how well this predicts a run."""
