"""Comparisons that you may look at whenever you like."""
