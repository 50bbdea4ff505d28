"""Displays: how a run is shown while it is in progress. They listen to events and decide nothing."""

import os
import sys
from collections.abc import Callable
from importlib import import_module
from typing import TYPE_CHECKING, TextIO

if TYPE_CHECKING:
    from rig.displays.base import Display

_DISPLAYS: "dict[str, Callable[[TextIO], Display]]" = {
    "tui": lambda stream: import_module("tui.display").TuiDisplay(),
    "plain": lambda stream: import_module("rig.displays.plain").PlainDisplay(stream),
    "log": lambda stream: import_module("rig.displays.log").LogDisplay(stream),
    "none": lambda stream: import_module("rig.displays.none").NoDisplay(),
}
"""What makes each of them, for the stream that lines go to. One is imported when it is chosen."""

NAMES = ("auto", *_DISPLAYS)


def choose(name: str, stream: TextIO) -> "Display":
    """The display of this name, writing lines to `stream`; `auto` is decided by where the streams lead."""
    return _DISPLAYS[resolve(name, stream)](stream)


def resolve(name: str, stream: TextIO) -> str:
    """The name itself, but for `auto`, which is decided by where the streams lead."""
    if name == "auto":
        return "tui" if is_interactive(stream) else "plain"
    return name


def is_interactive(stream: TextIO) -> bool:
    """Whether a person can watch and press keys: all streams are a terminal that can move its cursor."""
    return all(is_terminal(handle) for handle in (sys.stdin, stream, sys.stderr))


def is_terminal(stream: TextIO) -> bool:
    """Whether a stream is a terminal that can do more than print."""
    return stream.isatty() and os.environ.get("TERM", "dumb") != "dumb"
