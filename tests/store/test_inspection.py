"""A store from elsewhere is inspected before it is read: its tables, types and sizes are rig's."""

import sqlite3
from collections.abc import Callable
from contextlib import closing
from pathlib import Path
from random import Random

import pytest
import small_talks
from sqlite_utils import Database

from benchmarks.attack.foreign import HARMS
from rig import progress
from rig.errors import RigError
from rig.paths import cache_directory
from rig.store import Runs, StoreError, inspection, merge
from rig.store.inspection import is_remembered, remember

READ_ALL_THE_SAME = {
    "source of brackets": "only who reads the conversation notices",
    "view of a task of brackets": "the method reads the source instead",
    "arguments of brackets": "only who reads the conversation notices",
    "summary without an end": "views in a store are never read",
    "wrong type": "some values are of the right type",
}
HUGE = {"huge prediction", "huge settings", "huge source", "many runs"}


@pytest.fixture
def store(tmp_path: Path) -> Path:
    path = tmp_path / "runs.sqlite"
    small_talks.play(small_talks.plan(path, small_talks.oracle(), small_talks.oracle()))
    return path


@pytest.mark.parametrize("name", sorted(HARMS.keys() - READ_ALL_THE_SAME.keys() - HUGE))
def test_what_rig_does_not_write_is_refused_in_one_line(store: Path, tmp_path: Path, name: str) -> None:
    with closing(sqlite3.connect(store)) as database:
        HARMS[name](database, Random(1))
        database.commit()
    for read in (lambda: Runs.open(store).__enter__(), lambda: merge(tmp_path / "other.sqlite", store)):
        with pytest.raises(RigError) as refused:
            read()
        assert str(refused.value).startswith(f"{store}: ")
        assert "\n" not in str(refused.value)
    with pytest.raises(StoreError), Runs.open(tmp_path / "other.sqlite"):
        pass


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


def test_a_store_is_inspected_once_until_another_program_changes_it(
    store: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    inspected: list[Path] = []
    inspect = inspection.fault_of
    monkeypatch.setattr(
        "rig.store.connect.fault_of",
        lambda database, name: inspected.append(store) or inspect(database, name),
    )
    for _ in range(3):
        with Runs.open(store) as runs:
            runs.all()
    assert not inspected, "the run that wrote it remembers it"
    with closing(sqlite3.connect(store)) as database:
        database.execute("UPDATE runs SET name = 'other'")
        database.commit()
    for _ in range(3):
        with Runs.open(store) as runs:
            runs.all()
    assert inspected == [store]


def test_what_is_remembered_is_lost_without_harm(
    store: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    remember(store)
    assert is_remembered(store)
    file = cache_directory() / inspection._FILE
    file.write_text("[1")
    assert not is_remembered(store)
    with Runs.open(store) as runs:
        assert len(runs.all()) == 1
    file.unlink(missing_ok=True)
    monkeypatch.setenv("RIG_CACHE", str(tmp_path / "cache"))
    (cache_directory() / inspection._FILE).mkdir(parents=True)
    with Runs.open(store) as runs:
        assert len(runs.all()) == 1


ENDLESS = "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n) SELECT max(i) FROM n"


def test_a_statement_that_takes_too_much_computing_is_ended(
    store: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    later: Callable[[], float] = iter(range(0, 1_000_000, 1_000)).__next__
    monkeypatch.setattr(inspection.time, "thread_time", later)
    with (
        closing(Database(store)) as database,
        pytest.raises(sqlite3.OperationalError, match="interrupted"),
        inspection.limited(database),
    ):
        database.execute(ENDLESS).fetchall()


def test_a_store_is_read_to_its_end_however_busy_the_machine_is(
    store: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Where each look at the clock is a day later, and little was computed."""
    days: Callable[[], float] = iter(range(0, 10**12, 86_400)).__next__
    monkeypatch.setattr(inspection, "_OPERATIONS", 100)
    told: list[tuple[str, str, int, int]] = []
    monkeypatch.setattr(progress, "_watch", [*progress._watch])
    progress.show_with(lambda *how_far: told.append(how_far))
    (cache_directory() / inspection._FILE).unlink(missing_ok=True)
    with monkeypatch.context() as patched:
        patched.setattr(inspection.time, "monotonic", days)
        with Runs.open(store) as runs:
            assert len(runs.all()) == 1
    assert {(name, what) for name, what, *_ in told} == {("runs.sqlite", "inspecting part")}
    done = [number for *_, number, _of in told]
    assert done == sorted(done)
    assert told[0][2] < told[-1][2] == told[-1][3]


def test_what_was_not_read_is_not_called_damaged(store: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(inspection, "_OPERATIONS", 1)
    monkeypatch.setattr(inspection, "_LEAST_S", -1e9)
    (cache_directory() / inspection._FILE).unlink(missing_ok=True)
    with pytest.raises(StoreError) as caught, Runs.open(store):
        pass
    assert "far more computing than its size explains" in str(caught.value)
    assert "damaged" not in str(caught.value)
