"""What a display is, and which one suits the terminal."""

import importlib
import os
import sys
from collections.abc import Callable
from typing import Protocol, TextIO, TypeVar

from rig.events import Emit
from rig.running.control import Control

T = TypeVar("T")

NAMES = ("auto", "tui", "plain", "log", "none")


class Display(Protocol):
    """Owns the main thread while a job runs and is told what happens."""

    def run(self, job: Callable[[Emit], T], control: Control) -> T:
        """Run the job to its end, here or in a thread, and return its result or raise what it raised."""
        ...


def resolve(name: str, stream: TextIO) -> str:
    """The name itself, but for `auto`, which is decided by where the streams lead."""
    if name == "auto":
        return "tui" if is_interactive(stream) else "plain"
    return name


def choose(name: str, stream: TextIO) -> Display:
    """The display of this name, writing lines to `stream`; `auto` is decided by where the streams lead."""
    name = resolve(name, stream)
    if name == "tui":
        display: Display = importlib.import_module("tui.live.display").TuiDisplay()
        return display
    if name == "plain":
        from rig.displays.plain import PlainDisplay

        return PlainDisplay(stream)
    if name == "log":
        from rig.displays.log import LogDisplay

        return LogDisplay(stream)
    from rig.displays.none import NoDisplay

    return NoDisplay()


def is_interactive(stream: TextIO) -> bool:
    """Whether a person can watch and press keys: all streams are a terminal that can move its cursor."""
    streams = (sys.stdin, stream, sys.stderr)
    return all(each.isatty() for each in streams) and os.environ.get("TERM", "dumb") != "dumb"
