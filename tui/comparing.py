"""Comparing stored runs from within the application, without holding it up."""

import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path

from rig.errors import RigError

PATIENCE_S = 300


def comparison(store: Path, runs: Sequence[str]) -> str:
    """What `rig compare` says of these runs, whatever they differ in. Raises RigError with its fault.

    It is a process of its own: the statistics take seconds, which a view and a run beside it must not miss.
    """
    command = [sys.executable, "-m", "rig", "compare", "--across-settings", "--runs", str(store), "--", *runs]
    try:
        done = subprocess.run(
            command, stdin=subprocess.DEVNULL, capture_output=True, encoding="utf-8", timeout=PATIENCE_S
        )
    except (OSError, subprocess.TimeoutExpired) as error:
        raise RigError(f"rig compare: {error}") from error
    if done.returncode not in (0, 1):
        said = done.stderr.strip().splitlines()
        raise RigError(
            said[-1].removeprefix("rig: ") if said else f"rig compare ended with {done.returncode}"
        )
    return done.stdout
