"""Deleting a run from the store."""

from contextlib import closing
from pathlib import Path

from rig.errors import RigError
from rig.store.connect import connect_for_writing, faults, transaction
from rig.store.reader import held_by


def delete_run(path: Path, run: str) -> None:
    """Delete the run of this id with all that belongs to it, whole or not at all.

    Raises RigError when it is gone already, or while a live process is writing it. The file keeps its size;
    SQLite uses the room for later runs.
    """
    if not path.is_file():
        raise RigError(f"{path}: no such file; it held run {run}")
    with closing(connect_for_writing(path)) as database, faults(path), transaction(database):
        row = next(database.query("SELECT * FROM runs WHERE id = ?", [run]), None)
        if row is None:
            raise RigError(f"run {run} is not in {path} any more")
        holder = held_by(row, path)
        if holder is not None:
            raise RigError(
                f"run {run} is being written by process {holder.pid} on {holder.host}; "
                "stop it first, or wait for it"
            )
        database.execute("DELETE FROM runs WHERE id = ?", [run])
        database.execute("DELETE FROM sources WHERE sha256 NOT IN (SELECT source FROM conversations)")
