"""A store from elsewhere: its tables are rig's, and what it holds is read or refused in one line."""

import sqlite3
from collections.abc import Callable
from contextlib import closing
from pathlib import Path
from random import Random

import pytest
import small_talks

from benchmarks.attack.foreign import HARMS
from rig.core.errors import RigError
from rig.plugins.exports.merging import merge
from rig.store import Runs, connect

READ_ALL_THE_SAME = {
    "source of brackets": "only who reads the conversation notices",
    "view of a task of brackets": "the method reads the source instead",
    "arguments of brackets": "only who reads the conversation notices",
    "counts without an end": "it is a number",
    "turns as far as numbers go": "so are these",
    "many metrics": "they are read, however many",
    "very many metrics": "they are read, however many",
    "summary without an end": "views in a store are never read",
    "wrong type": "some values are of the right type",
}
HUGE = {"huge prediction", "huge settings", "huge source", "many runs"}


@pytest.fixture
def store(tmp_path: Path) -> Path:
    path = tmp_path / "runs.sqlite"
    small_talks.play(small_talks.plan(path, small_talks.oracle(), small_talks.oracle()))
    return path


def all_of(store: Path) -> None:
    with Runs.open(store) as runs:
        runs.all()


@pytest.mark.parametrize("name", sorted(HARMS.keys() - READ_ALL_THE_SAME.keys() - HUGE))
def test_what_rig_does_not_write_is_refused_in_one_line(store: Path, tmp_path: Path, name: str) -> None:
    own = tmp_path / "own.sqlite"
    small_talks.play(small_talks.plan(own, small_talks.oracle(), run="mine"))
    before = own.read_bytes()
    with closing(sqlite3.connect(store)) as database:
        HARMS[name](database, Random(1))
        database.commit()
    reads: tuple[Callable[[], object], ...] = (lambda: all_of(store), lambda: merge(own, store))
    for read in reads:
        with pytest.raises(RigError) as refused:
            read()
        assert str(refused.value).startswith(f"{store}: ")
        assert "\n" not in str(refused.value)
    assert own.read_bytes() == before


def test_views_and_tables_of_the_owner_stay_and_are_not_read(store: Path) -> None:
    with closing(sqlite3.connect(store)) as database:
        database.executescript(
            "CREATE VIEW mine AS SELECT * FROM runs; CREATE TABLE notes (text);"
            "CREATE INDEX quick ON predictions (tool);"
            "DROP VIEW steps; CREATE VIEW steps AS SELECT 'forged' AS run"
        )
    with Runs.open(store) as runs:
        run = runs.get("latest")
        assert {row["run"] for row in runs.view("steps", run)} == {run.id}
        assert {"mine"} <= set(runs._database.view_names())
        assert {"notes"} <= set(runs._database.table_names())


@pytest.mark.parametrize("said", ["json_group_object('a', x'01')", "abs(-9223372036854775808)"])
def test_whatever_sqlite_says_of_a_value_is_one_line(store: Path, said: str) -> None:
    with (
        pytest.raises(RigError) as refused,
        connect.understood(store),
        connect.faults(store),
        closing(sqlite3.connect(":memory:")) as database,
    ):
        database.execute(f"SELECT {said}").fetchall()
    assert str(refused.value).startswith(f"{store}: ")
