"""rig: an offline evaluation rig for local tool-calling models."""

__version__ = "0.1.0"
