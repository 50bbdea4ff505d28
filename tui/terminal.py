"""The terminal around an application: signals, hang-ups, and its line discipline given back."""

import os
import select
import signal
import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from types import FrameType

from rig.displays.base import handled
from tui.terminal_guard import terminal_guard

_LOOK_S = 0.5


def has_terminal() -> bool:
    """Whether there is a terminal to read keys from and to paint on.

    The application reads keys from stdin and, so that stdout can be piped, paints on stderr.
    """
    return all(stream is not None and stream.isatty() for stream in (sys.__stdin__, sys.__stderr__))


@contextmanager
def guarded(stop: Callable[[], bool]) -> Iterator[None]:
    """While this lasts, signals and the end of the terminal end the view, and the terminal is given back.

    A signal to end calls `stop`, which says whether that was asked for before.
    """
    assert sys.__stdin__ is not None
    assert sys.__stderr__ is not None
    keys, painted = sys.__stdin__.fileno(), sys.__stderr__.fileno()
    with signals_stop(stop), hangup_kills(), terminal_guard(keys, painted):
        yield


def signals_stop(stop: Callable[[], bool]) -> AbstractContextManager[None]:
    """While this lasts, a signal to end calls `stop`; once that was asked for, it ends the view as well.

    The application notices by itself what stopped, and leaves the terminal in order.
    """

    def handle(number: int, frame: FrameType | None) -> None:
        if stop():
            raise KeyboardInterrupt

    return handled(handle, signal.SIGINT, signal.SIGTERM)


@contextmanager
def hangup_kills() -> Iterator[None]:
    """While this lasts, the end of the terminal is that of the process, and a killed run can be resumed.

    Without its terminal the application would spin. SIGHUP tells of that end, but it may be ignored by what
    started the process, and only comes to those whose controlling terminal it is; so stdin is watched, too.
    """
    assert sys.__stdin__ is not None
    terminal = select.poll()
    terminal.register(sys.__stdin__.fileno(), 0)
    left = threading.Event()

    def watch() -> None:
        while not left.is_set():
            for _, events in terminal.poll(_LOOK_S * 1000):
                if events & select.POLLHUP and not left.is_set():
                    os.kill(os.getpid(), signal.SIGHUP)
                return

    with handled(signal.SIG_DFL, signal.SIGHUP):
        threading.Thread(target=watch, name="terminal", daemon=True).start()
        try:
            yield
        finally:
            left.set()
