"""Drafts: what an answer may go on with, decoded before the model has chosen it, and kept where it does."""
