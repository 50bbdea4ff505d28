"""Give the terminal back even when the application cannot: killed, out of memory, or crashed in C."""

import os
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager, suppress

LEAVE = "".join(
    (
        "\x1b[?2026l",  # end a synchronized update
        "\x1b[<u",  # keyboard protocol
        "\x1b[?1000l\x1b[?1003l\x1b[?1015l\x1b[?1006l\x1b[?1016l",  # mouse
        "\x1b[?2004l\x1b[?2048l\x1b[?1004l",  # bracketed paste, resizes and focus told in band
        "\x1b[?7h\x1b[0m",  # wrap long lines, plain colours
        "\x1b[?1049l\x1b[?25h",  # the screen from before, the cursor
    )
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
