"""Verbs for your own tools and conversations."""
