"""Which process is writing a run: a claim that ends with the process and with a restart of the machine.

The claim is a kernel lock on a file beside the store, which works across containers too. If a file system has
no locks, rig checks whether the process is alive.
"""

import fcntl
import glob
import json
import os
import platform
import time
from contextlib import suppress
from dataclasses import asdict, dataclass
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

from rig.core.budget import parse_json
from rig.core.errors import RigError
from rig.core.files import is_running, started_s
from rig.core.paths import real
from rig.core.sqlite_import import Database

ELSEWHERE = timedelta(minutes=15)
"""How long a writer on another machine counts as alive without storing a turn, since it cannot be checked."""


class RunLock:
    """The lock on a run of a store, held until released, or until the process ends in any way."""

    def __init__(self, store: Path, run: str) -> None:
        """Acquire the lock. Raises RigError if another process, or another writer of this one, holds it."""
        self._file = _lock_file(store, run)
        self._handle: int | None = None
        for _ in range(_TRIES):
            try:
                handle = os.open(self._file, os.O_RDWR | os.O_CREAT | _FLAGS, 0o666)
            except OSError:
                return
            try:
                fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
                if _is_at(handle, self._file):
                    self._handle = handle
                    return
            except BlockingIOError:
                # Somebody writes the run, or looks at this moment whether somebody does.
                time.sleep(_BETWEEN_TRIES_S)
            except OSError:
                os.close(handle)
                return
            os.close(handle)
        raise RigError(f"{self._file}: is locked by another process that writes this run; wait for it")

    def release(self) -> None:
        """Release the lock and delete its file; a file that cannot be deleted does no harm."""
        if self._handle is not None:
            with suppress(OSError):
                if _is_at(self._handle, self._file):
                    self._file.unlink(missing_ok=True)
            os.close(self._handle)
            self._handle = None


def is_locked(store: Path, run: str) -> bool | None:
    """Return whether a process has the lock on a run; None if no lock can be seen. Writes nothing."""
    return _is_locked(_lock_file(store, run))


def is_in_use(store: Path) -> bool:
    """Return whether a process has the lock on any run of a store. Writes nothing."""
    place = real(store)
    return any(map(_is_locked, place.parent.glob(f"{glob.escape(place.name)}-*.lock")))


def _is_locked(file: Path) -> bool | None:
    try:
        handle = os.open(file, os.O_RDONLY | _FLAGS)
    except OSError:
        return None
    try:
        fcntl.flock(handle, fcntl.LOCK_SH | fcntl.LOCK_NB)
    except BlockingIOError:
        return True
    except OSError:
        return None
    finally:
        os.close(handle)
    return False


def _lock_file(store: Path, run: str) -> Path:
    place = real(store)
    return place.with_name(f"{place.name}-{run}.lock")


def _is_at(handle: int, path: Path) -> bool:
    """Return whether an open file is the one at this path; a previous holder may have deleted it."""
    try:
        return os.path.samestat(os.fstat(handle), path.stat())
    except OSError:
        return False


_FLAGS = os.O_CLOEXEC | os.O_NONBLOCK | os.O_NOFOLLOW
"""A pipe with that name does not block, and a link is not followed: its target is left alone."""
_TRIES = 20
_BETWEEN_TRIES_S = 0.01


@dataclass(frozen=True, slots=True)
class Holder:
    """A process. The time when it started distinguishes it from a later one with the same number."""

    pid: int
    host: str
    started: float

    @classmethod
    def current(cls) -> "Holder":
        """Return the current process."""
        return cls(os.getpid(), platform.node(), started_s(os.getpid()) or 0.0)

    @classmethod
    def from_text(cls, text: str) -> "Holder":
        """Read what `as_text` wrote."""
        return cls(**parse_json(text))

    def as_text(self) -> str:
        """Return the process as text for the store."""
        return json.dumps(asdict(self))

    def is_alive(self, heartbeat: datetime) -> bool:
        """Return whether the process may still be running. `heartbeat` is when it last stored something."""
        if self.host != platform.node():
            return datetime.now(UTC) - heartbeat < ELSEWHERE
        return is_running(self.pid, self.started)


def held_by(run: dict[str, Any], store: Path) -> Holder | None:
    """Return the live process that is writing a run of a store, from its row; None if there is none.

    A process counts as live if the run is locked or, where no lock can be seen, if it may still be running.
    """
    if run["writer"] is None:
        return None
    holder = Holder.from_text(run["writer"])
    heartbeat = datetime.fromisoformat(run["heartbeat"])
    locked = is_locked(store, run["id"])
    return holder if locked or (locked is None and holder.is_alive(heartbeat)) else None


def check_unheld(database: Database, run: str, store: Path) -> None:
    """Raise RigError if a run is no longer in its store, or a live process is writing it."""
    row = next(database.query("SELECT * FROM runs WHERE id = ?", [run]), None)
    if row is None:
        raise RigError(f"run {run} is not in {store} any more")
    if holder := held_by(row, store):
        raise RigError(
            f"run {run} is being written by process {holder.pid} on {holder.host}; "
            "stop it first, or wait for it"
        )
