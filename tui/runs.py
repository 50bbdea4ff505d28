"""The application over all stored runs: `rig runs --tui`."""

from pathlib import Path

from rig.store import Runs
from tui.leave import Resume
from tui.screens.runs import RunsScreen
from tui.watch import show


def browse(store: Path) -> Resume | None:
    """Let somebody choose among the stored runs, until they leave.

    A run that is to be gone on with is returned. Raises RigError if there is no terminal, or no store.
    """
    with Runs.open(store):
        # A store that cannot be read is said in a line, before there is a screen.
        pass
    left = show(RunsScreen(store), lambda: None)
    return left if isinstance(left, Resume) else None
