"""The Nth write fails, for every N of a short run: nothing that was stored is lost or doubled.

The same from the command line, at random, is `benchmarks/attack/writes.py`.
"""

import shutil
import sqlite3
from collections.abc import Callable, Iterator
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest
import small_talks
from small_talks import answers

from benchmarks.attack.writes import FAULTS, SAID, Faulty, faulty_stores
from rig.core.errors import RigError
from rig.core.events import Event, TurnFinished
from rig.running.control import Control
from rig.running.plan import Plan
from rig.running.runner import run
from rig.store import StoreError
from rig.store.connect import connect_for_writing


@pytest.fixture(autouse=True)
def _faulty() -> Iterator[None]:
    with faulty_stores():
        yield


@pytest.fixture
def empty(tmp_path: Path) -> Path:
    """A store without runs."""
    path = tmp_path / "empty.sqlite"
    connect_for_writing(path).close()
    return path


def plan(path: Path, **choices: Any) -> Plan:
    """Two turns of one conversation."""
    talks = small_talks.conversations()[2:]
    return small_talks.plan(path, small_talks.oracle(), conversations=talks, **choices)


def number_of_writes(write: Callable[[], object]) -> int:
    Faulty.fail()
    write()
    return Faulty.writes()


def tables(path: Path) -> dict[str, int]:
    """How many rows each table of a store has; the store is whole."""
    with closing(sqlite3.Connection(path)) as database:
        assert database.execute("PRAGMA integrity_check").fetchall() == [("ok",)]
        names = database.execute("SELECT name FROM sqlite_schema WHERE type = 'table'").fetchall()
        return {name: database.execute(f'SELECT count(*) FROM "{name}"').fetchone()[0] for (name,) in names}


@pytest.mark.slow
def test_every_write_that_makes_a_store_may_fail(tmp_path: Path) -> None:
    """Whichever it is, the file is empty afterwards, as if it had never been begun."""
    path = tmp_path / "runs.sqlite"
    writes = number_of_writes(lambda: connect_for_writing(tmp_path / "whole.sqlite").close())
    # One schema, made at once, takes fewer than the migrations that it replaced.
    assert writes > 40
    for number in range(1, writes + 1):
        Faulty.fail(number, FAULTS[number % len(FAULTS)], lasts=number % 5 == 0)
        with pytest.raises(StoreError, match=SAID) as caught:
            connect_for_writing(path)
        assert str(path) in str(caught.value)
        assert tables(path) == {}, f"write {number} of {writes}"
    Faulty.fail()
    run(plan(path), lambda _: None, Control())
    assert tables(path)["turns"] == 2


@pytest.mark.slow
@pytest.mark.parametrize(("lasts", "step"), [(False, 1), (True, 7)], ids=["once", "from then on"])
def test_every_write_of_a_short_run_may_fail(tmp_path: Path, empty: Path, lasts: bool, step: int) -> None:
    whole = shutil.copy(empty, tmp_path / "whole.sqlite")
    writes = number_of_writes(lambda: run(plan(whole), lambda _: None, Control()))
    expected = answers(whole)
    assert writes > 20
    for number in range(1, writes + 1, step):
        path = shutil.copy(empty, tmp_path / f"{number}.sqlite")
        told: list[Event] = []
        Faulty.fail(number, FAULTS[number % len(FAULTS)], lasts=lasts)
        with pytest.raises(RigError, match=SAID) as caught:
            run(plan(path), told.append, Control())
        Faulty.fail()
        assert str(path) in str(caught.value)
        assert not list(tmp_path.glob(f"{number}.sqlite-*.lock"))
        held = tables(path)
        said = sum(isinstance(event, TurnFinished) for event in told)
        assert held["turns"] == said, "what was announced is stored, and nothing else"
        assert run(plan(path, resume=bool(held["runs"])), lambda _: None, Control())
        assert answers(path) == expected, f"write {number} of {writes}"
