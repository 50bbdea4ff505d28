"""Displays: how a run is shown while it goes on. They listen to events and decide nothing."""

from collections.abc import Callable
from importlib import import_module
from typing import TextIO

from rig.displays.base import Display, resolve

_DISPLAYS: dict[str, Callable[[TextIO], Display]] = {
    "tui": lambda stream: import_module("tui.live.display").TuiDisplay(),
    "plain": lambda stream: import_module("rig.displays.plain").PlainDisplay(stream),
    "log": lambda stream: import_module("rig.displays.log").LogDisplay(stream),
    "none": lambda stream: import_module("rig.displays.none").NoDisplay(),
}
"""What makes each of them, for the stream that lines go to. One is imported when it is chosen."""

NAMES = ("auto", *_DISPLAYS)

__all__ = ["NAMES", "Display", "choose", "resolve"]


def choose(name: str, stream: TextIO) -> Display:
    """The display of this name, writing lines to `stream`; `auto` is decided by where the streams lead."""
    return _DISPLAYS[resolve(name, stream)](stream)
