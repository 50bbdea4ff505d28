"""The file that a stored conversation came from, and the line of a turn in it."""

from collections.abc import Iterable
from pathlib import Path

from rig import methods
from rig.core import opening
from rig.core.errors import RigError
from rig.running.planning import stored_config
from rig.store import StoredRun, Transcript


def place_of(run: StoredRun, transcript: Transcript, turn: int | None) -> tuple[Path, int]:
    """Return the file of a stored conversation, and the line of the turn at this position.

    Raises RigError if it came from no file, if the file is no longer there, and for a folder that a run
    names that was not started here, unless the user named it.
    """
    task = transcript.conversation
    for folder in _folders(run):
        method = methods.get(run.declaration.method)
        if (place := method.place_of(folder, task, turn)) is not None:
            return place
        raise RigError(f"{task.name}: no file in {folder} that rig can find it in; it may have been renamed")
    raise RigError(f"{task.name}: this conversation came without a file, so there is none to open")


def _folders(run: StoredRun) -> Iterable[Path]:
    """Return the folders that the conversations of a run were read from; none if they were made."""
    config = stored_config(run)
    if config.conversations is None and methods.with_suite(config.suite) is not None:
        shipped = methods.suites()
        return [place for name, (_, place) in shipped.items() if config.suite in (name, methods.ALL)]
    folder = Path(config.suite) if config.conversations is None else config.conversations
    if not folder.exists():
        raise RigError(f"{folder}: the conversations of run {run.id} are no longer there")
    if not opening.was_started_here(run.id, run.settings):
        opening.require_named(run.id, {"suite": str(folder)})
    return [folder]
