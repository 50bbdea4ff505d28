"""rig: an offline evaluation rig for local tool-calling models."""

__version__ = "0.1.0"

DISTRIBUTION = "rig-eval"
"""The name to install it by. `rig` on the package index is somebody else's."""
