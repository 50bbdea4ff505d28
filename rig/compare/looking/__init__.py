"""Comparisons that may be looked at whenever one likes."""
