"""Stores whose Nth write fails, from making the file to closing it: what was announced is stored."""

import sqlite3
from collections.abc import Iterator
from contextlib import contextmanager
from functools import cache
from pathlib import Path
from random import Random
from typing import Any
from unittest import mock

from benchmarks.attack.campaign import Broken, folder, main, rig
from benchmarks.attack.killed import predictions, stored_turns
from rig.core.events import Event, TurnFinished
from rig.show import base
from rig.store.holder import Holder

FAULTS = (sqlite3.SQLITE_FULL, sqlite3.SQLITE_IOERR, sqlite3.SQLITE_BUSY, sqlite3.SQLITE_NOMEM)
SAID = "the disk says no"
_ALL = 10**9
_RUN = ("run", "oracle", "--only", "AddAlarm-easy", "--similarity", "exact", "--display", "none")
_READS = ("SELECT", "PRAGMA", "SAVEPOINT", "RELEASE", "ROLLBACK")


class Faulty(sqlite3.Connection):
    """A connection whose Nth write fails, of all to stores together; if it lasts, the next ones too.

    A write is a change, the begin of a transaction, or a checkpoint.
    """

    left = _ALL
    code = sqlite3.SQLITE_FULL
    lasts = False

    @classmethod
    def fail(cls, number: int = _ALL, code: int = sqlite3.SQLITE_FULL, *, lasts: bool = False) -> None:
        """From now on; without a number nothing fails."""
        cls.left, cls.code, cls.lasts = number, code, lasts

    @classmethod
    def writes(cls) -> int:
        """How many there were since nothing fails."""
        return _ALL - cls.left

    def execute(self, sql: str, *values: object) -> sqlite3.Cursor:
        if not sql.lstrip().upper().startswith(_READS) or "wal_checkpoint" in sql:
            Faulty.left -= 1
            if Faulty.left == 0 or (self.lasts and Faulty.left < 0):
                error = sqlite3.OperationalError(SAID)
                error.sqlite_errorcode = self.code
                raise error
        return super().execute(sql, *values)


@contextmanager
def faulty_stores() -> Iterator[None]:
    """Stores are opened by `Faulty` connections. Whoever resumes counts as another process."""
    plain = sqlite3.connect

    def opened(place: object, **choices: Any) -> sqlite3.Connection:
        is_store = str(place).startswith("file:") and "mode=ro" not in str(place)
        return plain(place, **choices, factory=Faulty if is_store else sqlite3.Connection)  # type: ignore[arg-type]

    Faulty.fail()
    with mock.patch.object(sqlite3, "connect", opened), mock.patch.object(Holder, "is_alive", _gone):
        yield


def _gone(*_: object) -> bool:
    return False


@cache
def _whole() -> tuple[list[Any], int]:
    """What the run stores, and in how many writes."""
    with folder() as place, faulty_stores():
        _done(rig(*_RUN, "--runs", place / "runs.sqlite").code)
        return predictions(place / "runs.sqlite"), Faulty.writes()


def case(random: Random) -> str:
    """A run with a write that fails, and what is left of it afterwards."""
    expected, writes = _whole()
    number, code, lasts = random.randrange(1, writes + 1), random.choice(FAULTS), random.random() < 0.25
    told: list[Event] = []
    with folder() as place, faulty_stores(), mock.patch.object(base, "_ignore", told.append):
        store = place / "runs.sqlite"
        Faulty.fail(number, code, lasts=lasts)
        failed = rig(*_RUN, "--runs", store)
        Faulty.fail()
        if failed.code != 2 or SAID not in failed.err or str(store) not in failed.err:
            raise Broken(f"write {number}: exit {failed.code}: {failed.err[-300:]}")
        if list(place.glob("*.lock")):
            raise Broken(f"write {number}: a lock is left")
        announced = sum(isinstance(event, TurnFinished) for event in told)
        if (stored_turns(store) or 0) != announced:
            raise Broken(f"write {number}: {stored_turns(store)} turns stored, {announced} announced")
        _done(rig(*_again(store), "--runs", store).code)
        if predictions(store) != expected:
            raise Broken(f"write {number}: resumed, and other predictions are stored")
    return "for good" if lasts else "once"


def _again(store: Path) -> tuple[str, ...]:
    return _RUN if stored_turns(store) is None else ("run", "--resume", "latest", *_RUN[-2:])


def _done(code: int) -> None:
    if code:
        raise Broken(f"a run none of whose writes fails: exit {code}")


if __name__ == "__main__":
    main("writes", case, 200)
