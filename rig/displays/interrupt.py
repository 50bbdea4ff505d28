"""Ctrl-C: the first stops the run cleanly, the second ends the process."""

import signal
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from types import FrameType

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
