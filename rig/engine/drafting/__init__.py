"""Drafts: a possible continuation, decoded before the model has chosen it, and kept as far as it does."""
