"""Open the run store for reading or writing, check that it may be opened, and explain faults."""

import os
import sqlite3
import time
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager
from pathlib import Path

from rig.core.errors import RigError
from rig.core.files import temporary_folder
from rig.core.sqlite_import import Database
from rig.store.holder import is_in_use
from rig.store.schema import APPLICATION, STATEMENTS, VERSION, fault_of
from rig.store.views import refresh_views


class StoreError(RigError):
    """The run store cannot be read or written; nothing that needs it can go on."""


_ELSEWHERE = "give another file with --runs"
_LATER = "another process is at work on it; try again when it is done"
_DISK = "what was stored before is intact; fix this, then try again"
_DAMAGED = "it is damaged; use a copy of it, or give another file with --runs"

_ADVICE = {
    **dict.fromkeys((sqlite3.SQLITE_PERM, sqlite3.SQLITE_READONLY, sqlite3.SQLITE_CANTOPEN), _ELSEWHERE),
    **dict.fromkeys((sqlite3.SQLITE_BUSY, sqlite3.SQLITE_LOCKED, sqlite3.SQLITE_PROTOCOL), _LATER),
    **dict.fromkeys((sqlite3.SQLITE_NOMEM, sqlite3.SQLITE_IOERR, sqlite3.SQLITE_FULL), _DISK),
    **dict.fromkeys((sqlite3.SQLITE_CORRUPT, sqlite3.SQLITE_TOOBIG), _DAMAGED),
    sqlite3.SQLITE_NOTADB: "it is no run store, or a damaged one; give another file with --runs",
    sqlite3.SQLITE_MISMATCH: _DAMAGED,
}
"""What to do, by the result codes for files, disks and locks; any other code means a bug in rig."""

_LATER_IN_RUN = "another process is at work on it; when it is done, continue with `rig run --resume {run}`"
_DISK_IN_RUN = "what was stored before is intact; fix this, then continue with `rig run --resume {run}`"
_IN_RUN = {_LATER: _LATER_IN_RUN, _ELSEWHERE: _DISK_IN_RUN, _DISK: _DISK_IN_RUN}
"""What to do instead while a run is being written: it is continued, since it cannot move to another file."""


@contextmanager
def faults(path: Path, run: str = "") -> Iterator[None]:
    """Turn SQLite's errors about files, disks and locks into StoreError. `run` is the one being written."""
    from rig.core.databases import ForeignJournal

    try:
        yield
    except ForeignJournal as error:
        raise StoreError(str(error)) from error
    except sqlite3.Error as error:
        # The low byte is the code, the others refine it. There is no code if a text is not UTF-8.
        unread = sqlite3.SQLITE_CORRUPT if isinstance(error, sqlite3.OperationalError) else 0
        extended, message = getattr(error, "sqlite_errorcode", unread), str(error)
        code = extended & 0xFF
        if extended == sqlite3.SQLITE_CONSTRAINT_FOREIGNKEY:
            raise deleted(path, run) from error
        is_of_schema = message.startswith(_OF_SCHEMA) or "has no column named" in message
        if extended in _REFUSED or (code == sqlite3.SQLITE_ERROR and is_of_schema):
            # Another program has changed tables or rows.
            code = sqlite3.SQLITE_CORRUPT
        if code not in _ADVICE:
            raise
        advice = _ADVICE[code]
        if run:
            advice = _IN_RUN.get(advice, advice).format(run=run)
        raise StoreError(f"{path}: {error}; {advice}") from error
    except UnicodeDecodeError as error:
        raise StoreError(f"{path}: {error}; {_DAMAGED}") from error
    except UnicodeEncodeError as error:
        raise StoreError(f"{path}: holds nothing of the name {error.object!a}, which is not UTF-8") from error


def deleted(path: Path, run: str) -> StoreError:
    """Return the error for a run that was deleted while it was being written."""
    gone = f"run {run} was deleted while it was written" if run else "what belongs to it was deleted"
    return StoreError(f"{path}: {gone}; start a new run")


_OF_SCHEMA = (
    "no such ",
    "foreign key mismatch",
    "ambiguous column name",
    "error in ",
    "near ",
    "unrecognized token",
    "wrong number of arguments",
    "too many ",
    "view ",
)
"""How SQLite's messages begin when tables, views or triggers are not as rig made them."""

_REFUSED = (
    sqlite3.SQLITE_CONSTRAINT_TRIGGER,
    sqlite3.SQLITE_CONSTRAINT_UNIQUE,
    sqlite3.SQLITE_CONSTRAINT_PRIMARYKEY,
)
"""Constraints that fail because of what a store holds; the others fail because of what rig writes."""


@contextmanager
def _opening(path: Path) -> Iterator[None]:
    """Like `faults`, but no error is taken for a bug of rig: the file that was named is not a store."""
    try:
        with faults(path):
            yield
    except OSError as error:
        raise StoreError(f"{path}: {error.strerror or error}; {_ELSEWHERE}") from error
    except sqlite3.Error as error:
        raise StoreError(f"{path}: {error}; {_DAMAGED}") from error


@contextmanager
def intact(path: Path) -> Iterator[None]:
    """Turn errors in decoding rows into StoreError: rig did not write them that way."""
    try:
        yield
    except (ValueError, KeyError, TypeError, AttributeError, RecursionError) as error:
        raise StoreError(f"{path}: {type(error).__name__} in what it holds: {error}; {_DAMAGED}") from error


@contextmanager
def understood(path: Path) -> Iterator[None]:
    """Turn any unforeseen error while a store is read into a StoreError that says how to see more.

    A flipped bit can leave any value in any place, and be noticed anywhere. With $RIG_TRACEBACK, the error is
    left as it is.
    """
    try:
        yield
    except (
        *(ValueError, LookupError, TypeError, AttributeError, ArithmeticError, RecursionError),
        sqlite3.OperationalError,
    ) as error:
        # A null byte in a user's path has nothing to do with the store.
        if os.environ.get("RIG_TRACEBACK") or "embedded null" in str(error):
            raise
        raise StoreError(
            f"{path}: {type(error).__name__}: {error}; the store is damaged, or this is a bug in rig:"
            " RIG_TRACEBACK=1 shows where"
        ) from error


_NOT_REGULAR = "is not a regular file; --runs takes one"


def check_writable(path: Path) -> None:
    """Raise StoreError unless runs can be stored in this file. Writes nothing."""
    with _opening(path):
        if not path.parent.is_dir():
            raise StoreError(
                f"{path}: there is no directory {path.parent}; create it or choose another --runs"
            )
        if path.is_dir():
            raise StoreError(f"{path}: is a directory; --runs takes a file")
        if path.exists() and not path.is_file():
            raise StoreError(f"{path}: {_NOT_REGULAR}")
        # SQLite writes its log beside the database, so both must be writable.
        for place in (path.parent, path) if path.exists() else (path.parent,):
            if not os.access(place, os.W_OK):
                raise StoreError(f"{path}: {place} is not writable; choose another place with --runs")
        if path.exists():
            _check_log(path)
            _has_schema(path)


@contextmanager
def connect_for_reading(path: Path) -> Iterator[Database]:
    """Open an existing store read-only. Raises StoreError if it does not exist."""
    from rig.core.databases import open_for_reading

    with _opening(path):
        if not path.is_file():
            missing = "no such file; `rig run` creates it, --runs chooses another"
            raise StoreError(f"{path}: {_NOT_REGULAR if path.exists() else missing}")
        _check_log(path)
        if not _has_schema(path):  # an empty file
            with writing(path):
                pass
    with faults(path), closing(_open(path, open_for_reading)) as database:
        database.execute("PRAGMA query_only = ON")
        yield database


@contextmanager
def connect_unnoticed(path: Path) -> Iterator[Database]:
    """Open a store that another process may be writing, without disturbing it.

    The store must be of this rig, which `connect_for_reading` ensures.
    """
    from rig.core.databases import open_unnoticed

    with faults(path), closing(_open(path, open_unnoticed)) as database:
        database.execute("PRAGMA query_only = ON")
        yield database


def connect_for_writing(path: Path) -> Database:
    """Open a store for writing; it is created if there is none."""
    from rig.core.databases import BUSY_S, open_for_writing

    check_writable(path)
    with _opening(path):
        # SQLite does not wait for others when a store gets its log.
        deadline = time.monotonic() + BUSY_S
        while True:
            try:
                database = _open(path, open_for_writing)
                break
            except sqlite3.OperationalError as error:
                if "locked" not in str(error) or time.monotonic() > deadline:
                    raise
                time.sleep(0.01)
        try:
            # What a killed process loses is at most its last turn, which is run again.
            database.execute("PRAGMA synchronous = NORMAL")
            with intact(path), transaction(database):
                if not identify(database, path):
                    for statement in STATEMENTS:
                        database.execute(statement)
                    refresh_views(database)
        except BaseException:
            database.close()
            raise
    return database


@contextmanager
def writing(path: Path) -> Iterator[Database]:
    """A context with such a connection, which is closed at its end."""
    with closing(connect_for_writing(path)) as database, faults(path):
        yield database


@contextmanager
def copied(path: Path, copy: Path) -> Iterator[Database]:
    """Copy a store to a new file, and open the copy for reading. Nothing changes beside the store."""
    from rig.core.databases import copy_files, open_own

    with _opening(path):
        copy_files(path, copy)
    with faults(path), closing(_open(copy, open_own)) as database:
        database.execute("PRAGMA query_only = ON")
        yield database


def copy_to(database: Database, target: Path) -> None:
    """Copy all that a connection sees into a new file, or nothing. Raises OSError or sqlite3.Error."""
    from rig.core.databases import open_own

    if not target.parent.is_dir():  # a folder that somebody removed is not made again
        raise FileNotFoundError(target.parent)
    with temporary_folder(target.parent, target.name) as folder:
        part = folder / target.name
        with closing(open_own(part)) as copy:
            database.conn.backup(copy)
            # The writer of the store does not write its copy.
            copy.execute("UPDATE runs SET writer = NULL")
            copy.commit()
            copy.execute("PRAGMA journal_mode = DELETE")
        os.link(part, target)


def backup(path: Path, target: Path) -> None:
    """Copy a store to a new file, even while it is being written. Raises StoreError."""
    if not target.name:
        raise StoreError(f"{target}: is a directory; name a new file")
    if not target.parent.is_dir():
        raise StoreError(f"{target}: there is no directory {target.parent}; create it or name another file")
    with connect_for_reading(path) as database, _opening(target):
        try:
            copy_to(database, target)
        except FileExistsError as error:
            raise StoreError(f"{target}: exists; choose a new file") from error


@contextmanager
def transaction(database: Database) -> Iterator[None]:
    """A transaction. It locks at once, as a lock requested later could be refused without waiting."""
    if database.conn.in_transaction:
        database.rollback()  # there was no memory to do so when it failed
    database.execute("BEGIN IMMEDIATE")
    try:
        yield
        database.commit()
    except BaseException:
        database.rollback()
        raise


def _check_log(path: Path) -> None:
    """Raise StoreError if the log beside a store belongs to another store. Writes nothing.

    SQLite would apply it and damage the store, for example a copy that replaced a store whose writer was
    killed. While a run is being written, the log is that run's.
    """
    from rig.core.databases import log_of, open_unnoticed, open_without_log

    log = log_of(path)
    if not log.is_file() or not log.stat().st_size or is_in_use(path):
        return
    if not _is_sound(path, open_unnoticed) and _is_sound(path, open_without_log):
        raise StoreError(
            f"{log}: is the log of another store and would damage {path.name}, which is intact; move it and"
            f" {path.name}-shm away, then try again"
        )


def _is_sound(path: Path, opening: Callable[[Path], sqlite3.Connection]) -> bool:
    """Return whether SQLite finds no damage in a database that is opened this way."""
    try:
        with closing(_open(path, opening)) as database:
            return bool(database.execute("PRAGMA quick_check(1)").fetchone() == ("ok",))
    except sqlite3.Error as error:
        return getattr(error, "sqlite_errorcode", 0) & 0xFF not in (
            sqlite3.SQLITE_CORRUPT,
            sqlite3.SQLITE_NOTADB,
        )


def _open(path: Path, opening: Callable[[Path], sqlite3.Connection]) -> Database:
    connection = opening(path)
    try:
        database = Database(connection, execute_plugins=False)
        database.execute("PRAGMA foreign_keys = ON")
        return database
    except BaseException:
        connection.close()
        raise


def _has_schema(path: Path) -> bool:
    """Return whether an existing file is a store, and not empty. Raises StoreError like `identify`."""
    from rig.core.databases import open_for_reading

    with closing(_open(path, open_for_reading)) as database:
        return identify(database, path)


def identify(database: Database, path: Path) -> bool:
    """Return whether this is a run store; False if it is empty. Raises StoreError for anything else."""
    if not database.execute("SELECT count(*) FROM sqlite_master").fetchone()[0]:
        return False
    application, version = (
        database.execute(f"PRAGMA {name}").fetchone()[0] for name in ("application_id", "user_version")
    )
    if application != APPLICATION:
        raise StoreError(f"{path}: is a SQLite database, but not a run store of this rig; {_ELSEWHERE}")
    if version != VERSION:
        raise StoreError(
            f"{path}: has version {version} of the run store, and this rig reads version {VERSION};"
            f" use the rig that wrote it, or {_ELSEWHERE}"
        )
    with intact(path):
        fault = fault_of(database)
    if fault is not None:
        raise StoreError(f"{path}: {fault}; {_DAMAGED}")
    return True
