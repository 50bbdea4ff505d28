"""What a display is, and what suits the terminal."""

import os
import sys
from collections.abc import Callable
from typing import TYPE_CHECKING, Protocol, TextIO, TypeVar

if TYPE_CHECKING:
    from rig.events import Emit
    from rig.running.control import Control

T = TypeVar("T")


class Display(Protocol):
    """Owns the main thread while a job runs and is told what happens."""

    def run(self, job: "Callable[[Emit], T]", control: "Control") -> T:
        """Run the job to its end, here or in a thread, and return its result or raise what it raised."""
        ...


def resolve(name: str, stream: TextIO) -> str:
    """The name itself, but for `auto`, which is decided by where the streams lead."""
    if name == "auto":
        return "tui" if is_interactive(stream) else "plain"
    return name


def is_interactive(stream: TextIO) -> bool:
    """Whether a person can watch and press keys: all streams are a terminal that can move its cursor."""
    return all(is_terminal(each) for each in (sys.stdin, stream, sys.stderr))


def is_terminal(stream: TextIO) -> bool:
    """Whether a stream is a terminal that can do more than print."""
    return stream.isatty() and os.environ.get("TERM", "dumb") != "dumb"
