"""Compare stored runs in a separate process, without holding up the application."""

import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path

from rig.errors import RigError


class CompareProcess:
    """`rig compare` of these runs, across any settings, in progress.

    It runs in a separate process: the statistics take seconds, which a view and a run beside it cannot spare.
    Raises RigError if it cannot be started.
    """

    def __init__(self, store: Path, runs: Sequence[str]) -> None:
        self.runs = tuple(runs)
        command = [sys.executable, "-m", "rig", "compare", "--across-settings", "--runs", str(store), "--"]
        try:
            self._process = subprocess.Popen(
                [*command, *runs],
                stdin=subprocess.DEVNULL,
                stdout=subprocess.PIPE,
                stderr=subprocess.PIPE,
                encoding="utf-8",
            )
        except OSError as error:
            raise RigError(f"rig compare: {error}") from error

    def text(self) -> str:
        """What it says, once it is through. Raises RigError with its fault."""
        out, errors = self._process.communicate()
        if self._process.returncode not in (0, 1):
            last = errors.strip().splitlines()[-1:] or [f"it ended with {self._process.returncode}"]
            raise RigError(last[0].removeprefix("rig: "))
        return out

    def give_up(self) -> None:
        """End it; nobody waits for what it says."""
        self._process.kill()
