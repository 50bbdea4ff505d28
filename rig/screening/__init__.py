"""Screening: how likely models make the true calls, without generating, and how well that predicts a run."""
