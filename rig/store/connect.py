"""Opening the run store: what may be opened, for reading or for writing, and what the faults are called."""

import os
import sqlite3
import time
from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path
from urllib.parse import quote

from sqlite_utils import Database

from rig.errors import RigError
from rig.store.schema import KNOWN, MIGRATIONS
from rig.store.views import refresh_views

BUSY_S = 30.0
"""How long to wait for another process's transaction; each lasts milliseconds."""


class StoreError(RigError):
    """The run store cannot be read or written; nothing that needs it can go on."""


_ENVIRONMENT = {
    sqlite3.SQLITE_PERM,
    sqlite3.SQLITE_BUSY,
    sqlite3.SQLITE_LOCKED,
    sqlite3.SQLITE_NOMEM,
    sqlite3.SQLITE_READONLY,
    sqlite3.SQLITE_IOERR,
    sqlite3.SQLITE_CORRUPT,
    sqlite3.SQLITE_FULL,
    sqlite3.SQLITE_CANTOPEN,
    sqlite3.SQLITE_PROTOCOL,
    sqlite3.SQLITE_NOTADB,
}
"""Result codes that speak of files, disks and locks; the others are bugs of rig."""


@contextmanager
def faults(path: Path) -> Iterator[None]:
    """Turn what SQLite says of a file, a disk or a lock into a StoreError."""
    try:
        yield
    except sqlite3.Error as error:
        # The low byte is the code, the others refine it.
        if getattr(error, "sqlite_errorcode", 0) & 0xFF not in _ENVIRONMENT:
            raise
        raise StoreError(f"{path}: {error}; give another file with --runs") from error


def check_writable(path: Path) -> None:
    """Raise StoreError unless runs can be stored in this file. Writes nothing."""
    if not path.parent.is_dir():
        raise StoreError(f"{path}: there is no directory {path.parent}; create it or choose another --runs")
    if path.is_dir():
        raise StoreError(f"{path}: is a directory; --runs takes a file")
    if path.exists() and not path.is_file():
        raise StoreError(f"{path}: is not a regular file; --runs takes one")
    # SQLite writes its log beside the database, so both must be writable.
    for place in (path.parent, path) if path.exists() else (path.parent,):
        if not os.access(place, os.W_OK):
            raise StoreError(f"{path}: {place} is not writable; choose another place with --runs")
    if path.exists():
        with faults(path):
            _pending(path)


@contextmanager
def connect_for_reading(path: Path) -> Iterator[Database]:
    """A read-only connection to an existing store. Raises StoreError when there is none.

    A store of an older rig is migrated first.
    """
    if not path.is_file():
        raise StoreError(f"{path}: no such file; `rig run` creates it, --runs chooses another")
    with faults(path):
        if _pending(path):
            connect_for_writing(path).close()
        with closing(_open(path, _reading(path))) as database:
            database.execute("PRAGMA query_only = ON")
            yield database


@contextmanager
def connect_unnoticed(path: Path) -> Iterator[Database]:
    """A connection to a store that another process may be writing, which it must not notice.

    While there is a log, somebody writes or was killed: then not even the tidying that SQLite leaves to the
    last connection is done here. The store must be of this rig, which `connect_for_reading` sees to.
    """
    log = path.with_name(f"{path.name}-wal")
    with faults(path), closing(_open(path, "mode=ro" if log.exists() else _reading(path))) as database:
        database.execute("PRAGMA query_only = ON")
        yield database


def connect_for_writing(path: Path) -> Database:
    """A connection that may write, to a store that is created or migrated where needed."""
    check_writable(path)
    with faults(path):
        database = _open(path, "mode=rwc")
        try:
            _use_wal(database)
            # What a killed process loses is at most its last turn, which is run again.
            database.execute("PRAGMA synchronous = NORMAL")
            with transaction(database):
                _identify(database, path)
                MIGRATIONS.apply(database)
                refresh_views(database)
        except BaseException:
            database.close()
            raise
    return database


@contextmanager
def transaction(database: Database) -> Iterator[None]:
    """All or nothing. Takes the write lock at once: a lock taken later could be refused without a wait."""
    database.execute("BEGIN IMMEDIATE")
    try:
        yield
        database.commit()
    except BaseException:
        database.rollback()
        raise


def _reading(path: Path) -> str:
    """How to open a store that is only read.

    SQLite keeps an index of its log beside the database while anyone has it open. Who may write should, to
    leave nothing behind; who may not can read a store that nobody else is writing.
    """
    if os.access(path, os.W_OK) and os.access(path.parent, os.W_OK):
        return "mode=rw"
    return "mode=ro" if path.with_name(f"{path.name}-wal").exists() else "mode=ro&immutable=1"


def _open(path: Path, mode: str) -> Database:
    # A run is prepared in one thread and may be driven by another, one at a time.
    connection = sqlite3.connect(
        f"file:{quote(str(path.absolute()))}?{mode}", uri=True, timeout=BUSY_S, check_same_thread=False
    )
    try:
        database = Database(connection, execute_plugins=False)
        database.execute("PRAGMA foreign_keys = ON")
        return database
    except BaseException:
        connection.close()
        raise


def _use_wal(database: Database) -> None:
    """Readers must not wait for the writer. SQLite does not wait for others when it changes the mode."""
    deadline = time.monotonic() + BUSY_S
    while True:
        try:
            database.enable_wal()
            return
        except sqlite3.OperationalError as error:
            if "locked" not in str(error) or time.monotonic() > deadline:
                raise
            time.sleep(0.01)


def _pending(path: Path) -> bool:
    """Whether an existing file lacks migrations. Raises StoreError as `_identify` does. Writes nothing."""
    with closing(_open(path, _reading(path))) as database:
        _identify(database, path)
        return bool(MIGRATIONS.pending(database))


def _identify(database: Database, path: Path) -> None:
    """Raise StoreError unless this is a run store of this rig or an older one, or empty."""
    applied = {migration.name for migration in MIGRATIONS.applied(database)}
    if not applied and database.table_names():
        raise StoreError(f"{path}: is a SQLite database, but not one of runs; give another file with --runs")
    newer = sorted(applied - KNOWN)
    if newer:
        raise StoreError(f"{path}: written by a newer rig ({newer[-1]}); update rig, or give another --runs")
