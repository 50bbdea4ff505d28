"""The terminal around an application: signals, hang-ups, and its line discipline given back.

It is given back even when the application cannot do so: killed, out of memory, or crashed in C.
"""

import os
import select
import signal
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager, suppress
from types import FrameType

from rig.displays.base import handled

LEAVE = (
    "\x1b[?2026l"  # end a synchronized update
    "\x1b[<u"  # keyboard protocol
    "\x1b[?1000l\x1b[?1003l\x1b[?1015l\x1b[?1006l\x1b[?1016l"  # mouse
    "\x1b[?2004l\x1b[?2048l\x1b[?1004l"  # bracketed paste, resizes and focus told in band
    "\x1b[?7h\x1b[0m"  # wrap long lines, plain colours
    "\x1b[?1049l\x1b[?25h"  # the screen from before, the cursor
)
"""Takes back what Textual's Linux driver asks of a terminal."""

# The signals that a terminal sends go to this process too; reading on is how it learns that it is alone.
_SCRIPT = """
trap '' HUP INT QUIT TERM TTOU TSTP
read -r over || printf %s "$1" >&2
stty "$2" <&"$3"
"""


@contextmanager
def terminal_guard(terminal: int, painted: int) -> Iterator[None]:
    """While this lasts, a process waits for the end of it, or of this process, and puts the terminal in
    order.

    It always gives the line discipline back. What else an application asks of a terminal it takes back itself
    unless it dies, so the guard does that only then. `terminal` and `painted` are the file descriptors of the
    terminal that keys are read from and that is painted on. A machine without sh and stty goes without.
    """
    process = None
    with suppress(OSError):
        process = _start(terminal, painted)
    try:
        yield
    finally:
        if process is not None and process.stdin is not None:
            with suppress(OSError):
                os.write(process.stdin.fileno(), b"over\n")
            process.stdin.close()
            process.wait()


def _start(terminal: int, painted: int) -> subprocess.Popen[bytes]:
    modes = subprocess.run(["stty", "-g"], stdin=terminal, capture_output=True, text=True, check=False)
    keys = os.dup(terminal)  # under a number that is not one of the three that are redirected
    try:
        return subprocess.Popen(
            ["sh", "-c", _SCRIPT, "rig", LEAVE, modes.stdout.strip(), str(keys)],
            stdin=subprocess.PIPE,
            stdout=subprocess.DEVNULL,
            stderr=painted,
            pass_fds=(keys,),
        )
    finally:
        os.close(keys)


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
