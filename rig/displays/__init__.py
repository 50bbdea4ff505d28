"""Displays: how a run is shown while it goes on. They listen to events and decide nothing."""

from rig.displays.base import NAMES, Display, choose, resolve

__all__ = ["NAMES", "Display", "choose", "resolve"]
