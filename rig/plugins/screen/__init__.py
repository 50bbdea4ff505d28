"""Screening: look at files before a run, by five questions or by how likely they make the true calls."""
