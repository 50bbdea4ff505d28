"""Give runs ids that no other has, and delete them."""

import secrets
from pathlib import Path

from rig.core.errors import RigError
from rig.store import connect
from rig.store.holder import check_unheld
from rig.store.reader import Runs

_LETTERS = "23456789bcdfghjkmnpqrstvwxz"
_LENGTH = 5


def new_run_id(path: Path) -> str:
    """Return an id that no run in this store has; the store need not exist yet."""
    ids: set[str] = set()
    if path.is_file() and path.stat().st_size:
        with Runs.open(path) as runs:
            ids = runs.ids()
    while True:
        candidate = "".join(secrets.choice(_LETTERS) for _ in range(_LENGTH))
        if candidate not in ids:
            return candidate


def delete_run(path: Path, run: str) -> None:
    """Delete the run with this id and all that belongs to it, whole or not at all.

    Raises RigError if it is already gone, or while a live process is writing it. The file keeps its size;
    SQLite uses the room for later runs.
    """
    if not path.is_file():
        raise RigError(f"{path}: no such file; it held run {run}")
    with connect.writing(path) as database, connect.transaction(database):
        check_unheld(database, run, path)
        database.execute("DELETE FROM runs WHERE id = ?", [run])
        database.execute("DELETE FROM sources WHERE sha256 NOT IN (SELECT source FROM conversations)")
