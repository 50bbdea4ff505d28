"""Displays: how a run is shown while it is in progress. They listen to events and decide nothing."""

import os
import sys
from typing import TYPE_CHECKING, TextIO

from rig.core import registry as plugins

if TYPE_CHECKING:
    from rig.show.base import Display


def names() -> tuple[str, ...]:
    """Return the names of all displays, `auto` first. Raises RigError if a plugin fails."""
    return ("auto", *plugins.registered().displays)


def choose(name: str, stream: TextIO) -> "Display":
    """Return the display of this name, which writes lines to `stream`; `auto` depends on the streams."""
    display: Display = plugins.registered().displays[resolve(name, stream)](stream)
    return display


def resolve(name: str, stream: TextIO) -> str:
    """Return the name itself, or for `auto` the display that suits the streams."""
    if name == "auto":
        return "tui" if is_interactive(stream) else "plain"
    return name


def is_watched(name: str) -> bool:
    """Whether somebody watches this display, and so also reads how the run ended."""
    return name not in ("log", "none")


def is_interactive(stream: TextIO) -> bool:
    """Whether a person can watch and press keys: all streams are terminals that can move the cursor."""
    return all(is_terminal(handle) for handle in (sys.stdin, stream, sys.stderr))


def is_terminal(stream: TextIO) -> bool:
    """Whether a stream is a terminal that can do more than print."""
    return stream.isatty() and os.environ.get("TERM", "dumb") != "dumb"


def is_notebook() -> bool:
    """Whether this process is the kernel of a notebook."""
    shell = sys.modules.get("IPython")
    return shell is not None and hasattr(shell.get_ipython(), "kernel")
