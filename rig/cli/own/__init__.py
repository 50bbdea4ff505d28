"""Verbs for tools and conversations of your own."""
