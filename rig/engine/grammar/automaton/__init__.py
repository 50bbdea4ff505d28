"""Outlines' own engine: what may be written as a regular expression, and as an automaton over tokens."""
