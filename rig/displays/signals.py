"""Signals to end: the first Ctrl-C stops a run cleanly; other work is broken off and cleaned up."""

import signal
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from types import FrameType
from typing import NoReturn

from rig.running.control import Control


@contextmanager
def stopping(control: Control) -> Iterator[None]:
    """While this lasts, SIGINT asks the run to stop; once asked, SIGINT is deadly again.

    A kill is harmless to the store: it loses the turn in progress, as stopping does.
    """

    def stop(number: int, frame: FrameType | None) -> None:
        signal.signal(signal.SIGINT, signal.SIG_DFL)
        control.stop()
        print(f"\n{control.STOPPING}", file=sys.stderr, flush=True)

    before = signal.signal(signal.SIGINT, stop)
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, before)


@contextmanager
def endings_as_exceptions() -> Iterator[None]:
    """Let a process that has to end clean up what it began."""

    def leave(number: int, _: object) -> NoReturn:
        sys.exit(128 + number)

    before = {ending: signal.signal(ending, leave) for ending in (signal.SIGTERM, signal.SIGHUP)}
    try:
        yield
    finally:
        for ending, handler in before.items():
            signal.signal(ending, handler)
