"""The program `rig`, which is also `python -m rig`: its beginning and its end, where Ctrl-C just ends it."""

import signal
import sys

HANDLES_SIGINT = signal.getsignal(signal.SIGINT) is signal.default_int_handler
"""Whether Ctrl-C is not ignored, as it is in what a shell runs in the background."""
if HANDLES_SIGINT:
    # Python's own handler would print a traceback of whatever is being imported.
    signal.signal(signal.SIGINT, signal.SIG_DFL)

from rig.cli import INTERRUPTED  # noqa: E402
from rig.cli import main as command_line  # noqa: E402


def main() -> None:
    """Run the command line. Before and after it, Ctrl-C ends the process at once."""
    try:
        if HANDLES_SIGINT:
            signal.signal(signal.SIGINT, signal.default_int_handler)
        command_line()
    except KeyboardInterrupt:
        sys.exit(INTERRUPTED)
    finally:
        if HANDLES_SIGINT:
            signal.signal(signal.SIGINT, signal.SIG_DFL)


if __name__ == "__main__":
    main()
