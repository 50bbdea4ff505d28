"""Runs that are killed with SIGKILL at every moment at which something happens, and what is left of them."""

import os
import signal
import subprocess
import sys
from contextlib import suppress
from pathlib import Path
from typing import Any

PATIENCE_S = 600

_SWEEP = """
import os, signal, sys
from itertools import count
from rig.cli import main
from rig.show import base

def killed_at(number, store, arguments):
    # A process of its own runs until so many things have happened, and dies.
    child = os.fork()
    if child:
        return os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == -signal.SIGKILL
    left = count(number, -1)
    base._ignore = lambda event: next(left) or os.kill(os.getpid(), signal.SIGKILL)
    main([*arguments, "--runs", store])

folder, first, step, *arguments = sys.argv[1:]
number = int(first)
while killed_at(number, f"{folder}/{number:03}.sqlite", arguments):
    number += int(step)
"""


def kill_at_every_event(folder: Path, *arguments: str, first: int = 0, step: int = 1) -> list[Path]:
    """The stores of runs that were killed at the first event, at the second, and so on to the last.

    The last store is of a run that was over before it could be killed. Runs that had not begun to store are
    left out.
    """
    command = [sys.executable, "-c", _SWEEP, str(folder), str(first), str(step), *arguments]
    with subprocess.Popen(command, stdout=subprocess.DEVNULL, start_new_session=True) as sweep:
        try:
            assert sweep.wait(PATIENCE_S) == 0
        finally:
            with suppress(ProcessLookupError):
                os.killpg(sweep.pid, signal.SIGKILL)  # what it forked, where it did not end in time
    return sorted(folder.glob("*.sqlite"))


def messages(store: Path) -> list[Any]:
    """Every message of a store with its place, the role that spoke, and the call or the words."""
    import sqlite3

    with sqlite3.connect(f"file:{store}?mode=ro", uri=True) as database:
        return database.execute(
            "SELECT turns.conversation, turns.turn, step, role, kind, raw, tool, arguments FROM predictions"
            " JOIN turns ON turns.id = predictions.turn ORDER BY 1, 2, 3"
        ).fetchall()
