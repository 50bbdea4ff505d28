"""Open SQLite databases, which anyone may have written.

When SQLite opens a database with a hot journal beside it, it applies that journal and then deletes the file
that the journal names as its super-journal, whichever that is. rig writes through a write-ahead log, which
names no file, so a journal beside a database is never rig's, and such a database is refused.
"""

import os
import shutil
import sqlite3
import stat
import time
from collections.abc import Iterator
from contextlib import closing, contextmanager, nullcontext, suppress
from pathlib import Path
from typing import BinaryIO
from urllib.parse import quote

from rig.core.errors import RigError
from rig.core.paths import real

LARGEST_VALUE = 1 << 26
"""The most bytes of a value or a row that SQLite reads or writes for rig."""

BUSY_S = 30.0
"""How long to wait for another process's transaction; each lasts milliseconds."""

_MAGIC = bytes.fromhex("d9d505f920a163d7")
"""The last bytes of a journal that names a super-journal, and the first of any."""


class ForeignJournal(RigError):
    """A file that SQLite would apply to a database is not one that rig made."""


def in_memory(*, autocommit: bool = False) -> sqlite3.Connection:
    """Open an empty database in memory, for one thread at a time."""
    connection = sqlite3.connect(":memory:", check_same_thread=False)
    if autocommit:
        connection.isolation_level = None
    return connection


def open_own(path: Path) -> sqlite3.Connection:
    """Open a file where only rig writes, with the journal that lies there; create it if there is none."""
    return _connect(path, "mode=rwc", BUSY_S)


def log_of(path: Path) -> Path:
    """Return the path of SQLite's log beside a database."""
    return _beside(path, "-wal")


def names_super_journal(journal: Path) -> bool:
    """Return whether a journal is hot, and ends as one that names a file, which SQLite would delete."""
    with journal.open("rb") as file:
        is_hot = file.read(1) not in (b"", b"\0")
        file.seek(max(file.seek(0, os.SEEK_END) - len(_MAGIC), 0))
        return is_hot and file.read() == _MAGIC


def open_for_reading(path: Path) -> sqlite3.Connection:
    """Open a database to read from it, and apply no journal.

    SQLite keeps an index of its log beside the database while anyone has it open. With write permission it
    should be opened so that nothing is left behind; without, it can be read if nobody else is writing it.
    Raises ForeignJournal, OSError and sqlite3.Error.
    """
    _check_beside(path)
    if not (os.access(path, os.W_OK) and os.access(path.parent, os.W_OK)):
        return _connect(path, "mode=ro" if log_of(path).exists() else "mode=ro&immutable=1", BUSY_S)
    with _guarded(path) as guard:
        if _has_log(guard):
            return _first_read(_connect(path, "mode=rw", BUSY_S))
    return _connect(path, "mode=ro", BUSY_S)


def open_unnoticed(path: Path) -> sqlite3.Connection:
    """Open a database to read from it, and change nothing beside it while there is a log.

    Somebody is writing then, or was killed, so even the tidying that SQLite leaves to the last connection is
    avoided.
    """
    _check_beside(path)
    return _connect(path, "mode=ro", BUSY_S) if log_of(path).exists() else open_for_reading(path)


def open_without_log(path: Path) -> sqlite3.Connection:
    """Open a database to read what is in the file itself, whatever lies beside it."""
    return _connect(path, "mode=ro&immutable=1", BUSY_S)


def copy_files(path: Path, copy: Path) -> None:
    """Copy a database with its log to a new file, as of one moment, while others may be writing it.

    SQLite opens only the copy, so nothing appears beside the database, however this process ends. Raises
    ForeignJournal, OSError, and sqlite3.OperationalError if the database never rests.
    """
    deadline = time.monotonic() + BUSY_S
    while True:
        _check_beside(path)
        before = path.stat()
        with path.open("rb") as source, copy.open("wb") as target:
            _copy_pages(source, target)
        _beside(copy, "-wal").unlink(missing_ok=True)
        # What is written meanwhile is added to the log, of which SQLite reads what is complete. The database
        # itself changes seldom, and by less than a file system's clock can tell just after it has changed.
        with suppress(FileNotFoundError):
            shutil.copyfile(log_of(path), _beside(copy, "-wal"))
        after = path.stat()
        then, now = ((one.st_mtime_ns, one.st_size, one.st_ino) for one in (before, after))
        if then == now and time.time_ns() - after.st_mtime_ns > _CLOCK_NS:
            _check_beside(path)
            return
        if time.monotonic() > deadline:
            raise sqlite3.OperationalError("database is locked")
        time.sleep(_CLOCK_NS / 1e9)


_CLOCK_NS = 20_000_000
"""Two changes that are further apart have different times, in nanoseconds; kernels count in steps of 4 ms."""


def _copy_pages(source: BinaryIO, target: BinaryIO) -> None:
    """Copy as many pages as a database says it has; what follows them can be without an end."""
    head = source.read(100)
    source.seek(0)
    left = os.fstat(source.fileno()).st_size
    if head[24:28] == head[92:96]:
        page = int.from_bytes(head[16:18], "big")
        left = min(left, int.from_bytes(head[28:32], "big") * (page if page > 1 else 1 << 16))
    while left > 0 and (data := source.read(min(left, 1 << 20))):
        target.write(data)
        left -= len(data)


def open_for_writing(path: Path) -> sqlite3.Connection:
    """Open a database to write to it through a log; it is created if there is none. Raises like reading."""
    _check_beside(path)
    while True:
        if path.exists() and path.stat().st_size:
            with _guarded(path) as guard:
                if _has_log(guard):
                    return _first_read(_connect(path, "mode=rw", BUSY_S))
        _convert(path)


def _convert(path: Path) -> None:
    """Give a database a log instead of journals. Raises sqlite3.OperationalError while others use it."""
    with closing(_connect(path, "mode=rwc", 0)) as database:
        # SQLite looks at no journal of a file without pages.
        with _guarded(path) if path.stat().st_size else nullcontext():
            # The lock of the first read is held to the end, so no journal is read after the guard has gone.
            # None is written either: of a file, this changes one page.
            database.execute("PRAGMA locking_mode = EXCLUSIVE")
            database.execute("PRAGMA journal_mode = MEMORY")
            _first_read(database)
        database.execute("PRAGMA journal_mode = WAL")


@contextmanager
def _guarded(path: Path) -> Iterator[sqlite3.Connection]:
    """A context in which no connection applies a journal to a database, not even one that appears now.

    That takes an exclusive lock, and this reader has a shared one. It was not allowed to write itself.
    """
    with closing(_connect(path, "mode=ro", BUSY_S)) as guard:
        guard.execute("BEGIN")
        try:
            _first_read(guard)
        except sqlite3.OperationalError as error:
            if error.sqlite_errorcode == sqlite3.SQLITE_READONLY_ROLLBACK:
                raise _foreign(_beside(path, "-journal")) from error
            raise
        yield guard


def _has_log(database: sqlite3.Connection) -> bool:
    return bool(database.execute("PRAGMA journal_mode").fetchone() == ("wal",))


def _first_read(database: sqlite3.Connection) -> sqlite3.Connection:
    """Let a connection look at its file, after which it holds a shared lock as long as there is a log."""
    try:
        database.execute("SELECT count(*) FROM sqlite_schema").fetchone()
    except BaseException:
        database.close()
        raise
    return database


def _check_beside(path: Path) -> None:
    """Raise ForeignJournal if SQLite would take a file that rig did not make for a part of a database."""
    for ending in ("-journal", "-wal", "-shm"):
        file = _beside(path, ending)
        try:
            status = file.lstat()
        except FileNotFoundError:
            continue
        if not stat.S_ISREG(status.st_mode) or status.st_nlink > 1:
            raise ForeignJournal(f"{file}: has another name or is no regular file; use a copy of both")
        if ending == "-journal" and status.st_size:
            with file.open("rb") as journal:
                # A program that keeps its journal blanks the beginning when a transaction is over.
                if journal.read(1) != b"\0":
                    raise _foreign(file)


def _foreign(journal: Path) -> ForeignJournal:
    return ForeignJournal(
        f"{journal}: is the journal of another program, and applying it can delete other files; let that"
        " program finish, or move it away, then try again"
    )


def _beside(path: Path, ending: str) -> Path:
    place = real(path)
    return place.with_name(f"{place.name}{ending}")


def _connect(path: Path, mode: str, timeout: float) -> sqlite3.Connection:
    # A run is prepared in one thread and may be driven by another, one at a time.
    connection = sqlite3.connect(
        f"file:{quote(os.fsencode(path.absolute()))}?{mode}",
        uri=True,
        timeout=timeout,
        check_same_thread=False,
    )
    try:
        connection.setlimit(sqlite3.SQLITE_LIMIT_LENGTH, LARGEST_VALUE)
    except BaseException:
        connection.close()
        raise
    return connection
