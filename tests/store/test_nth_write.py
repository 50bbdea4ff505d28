"""The Nth write fails, for every N of a short run: nothing that was stored is lost or doubled."""

import os
import sqlite3
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest
import small_talks
from small_talks import answers

from rig.errors import RigError
from rig.events import Event, TurnFinished
from rig.running.control import Control
from rig.running.plan import Plan
from rig.running.runner import run
from rig.store.holder import Holder

FAULTS = (sqlite3.SQLITE_FULL, sqlite3.SQLITE_IOERR, sqlite3.SQLITE_BUSY, sqlite3.SQLITE_NOMEM)


class Faulty(sqlite3.Connection):
    """A connection whose Nth change fails, of all to stores together; if it lasts, the next ones too."""

    left = 0
    code = sqlite3.SQLITE_FULL
    lasts = False

    def execute(self, sql: str, *values: object) -> sqlite3.Cursor:
        if not sql.lstrip().upper().startswith(("SELECT", "PRAGMA", "SAVEPOINT", "RELEASE", "ROLLBACK")):
            Faulty.left -= 1
            if Faulty.left == 0 or (self.lasts and Faulty.left < 0):
                error = sqlite3.OperationalError("the disk says no")
                error.sqlite_errorcode = self.code
                raise error
        return super().execute(sql, *values)


@pytest.fixture
def faulty(monkeypatch: pytest.MonkeyPatch) -> Iterator[type[Faulty]]:
    plain = sqlite3.connect

    def opened(place: object, **choices: Any) -> sqlite3.Connection:
        is_store = str(place).startswith("file:")
        return plain(place, **choices, factory=Faulty if is_store else sqlite3.Connection)  # type: ignore[arg-type]

    monkeypatch.setattr(sqlite3, "connect", opened)
    # Whoever resumes is another process, and the one that failed is gone.
    monkeypatch.setattr(Holder, "is_alive", lambda holder, heartbeat: False)
    yield Faulty
    Faulty.left = 0


def plan(path: Path, **choices: Any) -> Plan:
    """Two turns of one conversation."""
    talks = small_talks.conversations()[2:]
    return small_talks.plan(path, small_talks.oracle(), conversations=talks, **choices)


def whole(path: Path) -> bool:
    with closing(sqlite3.Connection(path)) as database:
        return database.execute("PRAGMA integrity_check").fetchall() == [("ok",)]


@pytest.mark.parametrize(("lasts", "step"), [(False, 1), (True, 7)], ids=["once", "from then on"])
def test_every_write_of_a_short_run_may_fail(
    tmp_path: Path, faulty: type[Faulty], lasts: bool, step: int
) -> None:
    whole_run = tmp_path / "whole.sqlite"
    faulty.left = 10**9
    run(plan(whole_run), lambda _: None, Control())
    changes = 10**9 - faulty.left
    expected = answers(whole_run)
    assert changes > 20
    faulty.lasts = lasts
    for number in range(1, changes + 1, step):
        path = tmp_path / f"{number}.sqlite"
        told: list[Event] = []
        faulty.left, faulty.code = number, FAULTS[number % len(FAULTS)]
        with pytest.raises(RigError, match="the disk says no") as caught:
            run(plan(path), told.append, Control())
        faulty.left = 10**9
        assert str(path) in str(caught.value)
        assert whole(path)
        assert not list(tmp_path.glob(f"{number}.sqlite-*.lock"))
        said = sum(isinstance(event, TurnFinished) for event in told)
        with closing(sqlite3.Connection(path)) as database:
            tables = database.execute("SELECT count(*) FROM sqlite_schema WHERE name = 'turns'").fetchone()[0]
            stored = database.execute("SELECT count(*) FROM turns").fetchone()[0] if tables else 0
            begun = database.execute("SELECT count(*) FROM runs").fetchone()[0] if tables else 0
        assert stored == said, "what was announced is stored, and nothing else"
        again = plan(path, resume=bool(begun))
        assert run(again, lambda _: None, Control())
        assert answers(path) == expected, f"write {number} of {changes}"
        for left in tmp_path.glob(f"{number}.sqlite*"):
            os.unlink(left)
