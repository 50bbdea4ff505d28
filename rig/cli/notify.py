"""The terminal's title during a run; at its end a bell, a notification and the user's command."""

import os
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from time import monotonic

from rig.displays import is_terminal
from rig.displays.progress import Progress
from rig.displays.texts import headline, printable
from rig.events import Event
from rig.store import StoredRun

LONG_S = 60.0
"""Seconds after which somebody may have gone to do something else."""

_PATIENCE_S = 60.0
"""How long a command of the user's may take."""

_SAVE_TITLE, _RESTORE_TITLE = "\x1b[22;0t", "\x1b[23;0t"


class Notifier:
    """Tells a terminal (stderr) how far a run is, and tells the user when it has ended."""

    def __init__(self, *, bell: bool = True, command: str | None = None) -> None:
        self._bell = bell
        self._command = command
        self._progress = Progress()
        self._began = monotonic()
        self._title = ""
        self._is_titled = False
        self._stream = sys.stderr

    @contextmanager
    def titles(self, *, is_wanted: bool) -> Iterator[None]:
        """While this lasts, the title says how far the run is, if somebody can see it."""
        # Kept from before there is a live view, which puts something without a descriptor in its place.
        self._stream = sys.stderr
        self._is_titled = is_wanted and is_terminal(self._stream)
        self._write(_SAVE_TITLE)
        try:
            yield
        finally:
            self._write(_RESTORE_TITLE)

    def tell(self, event: Event) -> None:
        """Take one event in. May be called in any thread."""
        self._progress.tell(event)
        if (total := self._progress.total) and self._is_titled:
            title = f"rig {100 * self._progress.done // total}% of {total} {self._progress.unit}"
            if title != self._title:
                self._title = title
                self._write(f"\x1b]2;{title}\x07")

    def ended(self, run: StoredRun) -> str | None:
        """Ring, notify, and run the user's command. Returns what went wrong with that, in one line."""
        summary = _summary(run)
        if self._bell and monotonic() - self._began >= LONG_S:
            self._write(f"\x07\x1b]9;{summary}\x1b\\")
        if self._command is None:
            return None
        env = os.environ | {"RIG_RUN": run.id, "RIG_STATE": run.state, "RIG_SUMMARY": summary}
        stdout = self._stream.fileno()
        try:
            done = subprocess.run(self._command, shell=True, env=env, timeout=_PATIENCE_S, stdout=stdout)
        except subprocess.TimeoutExpired:
            return f"--notify: {self._command}: took longer than {_PATIENCE_S:g} s and was ended"
        return f"--notify: {self._command}: exit code {done.returncode}" if done.returncode else None

    def _write(self, sequence: str) -> None:
        if self._is_titled:
            # In one piece: a live view writes to the same terminal.
            os.write(self._stream.fileno(), sequence.encode())


def _summary(run: StoredRun) -> str:
    """A run in a few words, with nothing in it that steers a terminal."""
    arms = ", ".join(f"{arm.name} {headline(run.declaration, arm.rated)}" for arm in run.arms[:3])
    more = f" and {len(run.arms) - 3} more" if len(run.arms) > 3 else ""
    return " ".join(printable(f"rig: run {run.id} {run.state}: {arms}{more}").split())
