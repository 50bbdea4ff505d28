"""Runs of another store: taken over with everything that belongs to them, and never twice."""

import os
import shutil
import sqlite3
import threading
import time
from collections.abc import Callable
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest
from conftest import Finished
from graded_talks import model, play

from rig.core import databases
from rig.core.errors import RigError
from rig.plugins.exports.merging import merge
from rig.store import Runs, delete_run

N = 4


@pytest.fixture
def here() -> Path:
    return Path(os.environ["RIG_RUNS"])


@pytest.fixture
def other(tmp_path: Path) -> Path:
    """A store with a run of two arms."""
    path = tmp_path / "other.sqlite"
    play(path, model(N), model(N, {0, 1}), number=N)
    return path


def _told(path: Path, run: str) -> tuple[Any, ...]:
    """All that is read of a run, apart from its id."""
    with Runs.open(path) as runs:
        found = runs.get(run)
        talks = [
            runs.transcript(found, name, arm.position).turns
            for arm in found.arms
            for name in found.conversations
        ]
        cells = [(cell.conversation, cell.arm, cell.counts) for cell in runs.cells(found)]
        steps = [{**row, "run": ""} for row in runs.view("steps", found)]
        arms = [arm.as_json(found.declaration) for arm in found.arms]
        return found.created, found.settings, arms, talks, cells, runs.scores(found), steps


def _sums(path: Path) -> dict[str, int]:
    with closing(sqlite3.connect(path)) as database:
        tables = [name for (name,) in database.execute("SELECT name FROM sqlite_master WHERE type = 'table'")]
        return {name: database.execute(f'SELECT count(*) FROM "{name}"').fetchone()[0] for name in tables}


def test_a_run_is_taken_over_whole(here: Path, other: Path) -> None:
    assert merge(here, other).new == ["abcde"]
    assert _told(here, "abcde") == _told(other, "abcde")
    assert _sums(here) == _sums(other)


def test_it_joins_runs_that_are_here_and_leaves_them_as_they_are(
    here: Path, other: Path, rig: Callable[..., Finished]
) -> None:
    assert rig("run", "oracle", "--limit", 3, "--display", "none").code == 0
    (own,) = rig("runs", "--json").json
    before = _told(here, own["run"])
    sums = _sums(here)
    assert merge(here, other).new == ["abcde"]
    assert _told(here, own["run"]) == before
    assert _told(here, "abcde") == _told(other, "abcde")
    joined = {name: count + sums.get(name, 0) for name, count in _sums(other).items()}
    assert {name: n for name, n in _sums(here).items() if not name.startswith(("sqlite_", "_"))} == {
        name: n for name, n in joined.items() if not name.startswith(("sqlite_", "_"))
    }
    with closing(sqlite3.connect(here)) as database:
        assert database.execute("PRAGMA integrity_check").fetchone() == ("ok",)
        assert database.execute("PRAGMA foreign_key_check").fetchall() == []
    assert rig("compare", "abcde").code == 0


def test_a_run_that_is_here_is_not_stored_again(here: Path, other: Path) -> None:
    merge(here, other)
    sums = _sums(here)
    again = merge(here, other)
    assert (again.new, again.known) == ([], ["abcde"])
    assert _sums(here) == sums


def test_the_same_run_under_another_id_is_known(here: Path, other: Path) -> None:
    shutil.copy(other, here)
    with closing(sqlite3.connect(other)) as database:
        database.execute("PRAGMA foreign_keys = OFF")
        for table, column in (("runs", "id"), ("arms", "run"), ("conversations", "run")):
            database.execute(f"UPDATE {table} SET {column} = 'zzzzz'")
        database.commit()
    assert merge(here, other).known == ["abcde"]


def test_another_run_of_the_same_id_gets_a_new_one(here: Path, other: Path) -> None:
    play(here, model(N, {2}), number=N)
    merged = merge(here, other)
    assert len(merged.new) == 1
    assert merged.new != ["abcde"]
    assert _told(here, merged.new[0]) == _told(other, "abcde")


def test_a_run_that_went_on_elsewhere_is_left(here: Path, other: Path) -> None:
    merge(here, other)
    with closing(sqlite3.connect(other)) as database:
        database.execute("UPDATE predictions SET raw = 'changed' WHERE id = 1")
        database.commit()
    merged = merge(here, other)
    assert (merged.new, merged.known) == ([], [])
    assert merged.left == ["run abcde is here as abcde with other turns; delete that one first"]
    delete_run(here, "abcde")
    assert merge(here, other).new == ["abcde"]


def test_every_table_of_a_store_is_taken_over(other: Path) -> None:
    from rig.plugins.exports import merging

    tables = {name for name in _sums(other) if not name.startswith(("sqlite_", "_"))}
    taken = {"runs", "sources", "task_views", *merging._TABLES}
    assert tables == taken


@pytest.mark.parametrize("kind", ["missing", "text", "other database", "itself"])
def test_what_is_no_store_is_one_line_and_changes_nothing(
    kind: str, here: Path, other: Path, tmp_path: Path
) -> None:
    shutil.copy(other, here)
    file = tmp_path / "file"
    if kind == "text":
        file.write_text("hello")
    elif kind == "other database":
        with closing(sqlite3.connect(file)) as database:
            database.execute("CREATE TABLE runs (id)")
            database.commit()
    elif kind == "itself":
        file = here
    sums = _sums(here)
    with pytest.raises(RigError):
        merge(here, file)
    assert _sums(here) == sums


@pytest.mark.parametrize("log", [False, True])
def test_nothing_appears_beside_the_store_that_is_read(
    here: Path, tmp_path: Path, other: Path, log: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Not for a moment, as the process may be killed in it; a log that a killed one left stays as it is."""
    place = tmp_path / "theirs"
    place.mkdir()
    with closing(sqlite3.connect(other)) as database:
        if log:
            database.execute("UPDATE runs SET name = 'in the log'")
            database.commit()
        for path in (other, other.with_name(f"{other.name}-wal")):
            if path.exists():
                shutil.copy(path, place / path.name)
    before = {path.name: path.read_bytes() for path in place.iterdir()}
    assert len(before) == 1 + log
    seen = []
    opened = sqlite3.connect

    def connect(*words: Any, **more: Any) -> sqlite3.Connection:
        seen.append({path.name: path.read_bytes() for path in place.iterdir()})
        return opened(*words, **more)

    monkeypatch.setattr(sqlite3, "connect", connect)
    merge(here, place / other.name)
    monkeypatch.undo()
    after = {path.name: path.read_bytes() for path in place.iterdir()}
    assert [each for each in (*seen, after) if each != before] == []
    with Runs.open(here) as runs:
        assert (runs.get("abcde").name == "in the log") is log


def test_a_store_is_copied_as_of_one_moment_while_it_is_written(tmp_path: Path) -> None:
    path, copy = tmp_path / "a.sqlite", tmp_path / "copy.sqlite"
    with closing(databases.open_for_writing(path)) as database:
        database.execute("PRAGMA synchronous = OFF")
        database.execute("PRAGMA wal_autocheckpoint = 20")
        database.execute("CREATE TABLE pairs (one, other, room)")
        database.execute("INSERT INTO pairs VALUES (0, 0, '')")
        database.commit()
        stop = threading.Event()

        def write() -> None:
            number = 0
            while not stop.is_set():
                number += 1
                database.execute("INSERT INTO pairs VALUES (?, ?, hex(zeroblob(3000)))", [number, number])
                database.execute("UPDATE pairs SET one = ?, other = ? WHERE rowid = 1", [number, number])
                database.commit()
                time.sleep(0.001 if number % 40 else 0.05)  # a model thinks

        thread = threading.Thread(target=write)
        thread.start()
        try:
            for _ in range(10):
                databases.copy_files(path, copy)
                with closing(sqlite3.connect(copy)) as taken:
                    assert taken.execute("PRAGMA integrity_check").fetchone() == ("ok",)
                    [[one, count]] = taken.execute(
                        "SELECT max(one), count(*) FROM pairs WHERE one = other"
                    ).fetchall()
                    assert count == one + 1
        finally:
            stop.set()
            thread.join()


def test_the_verb_says_what_came_of_it(here: Path, other: Path, rig: Callable[..., Finished]) -> None:
    assert rig("import", other).out == f"{other}: added 1 run to {here}: abcde\n"
    assert rig("import", other).out == f"{other}: added 0 runs to {here}, 1 already there\n"
    assert rig("import", other, "--json").json["files"] == [
        {"file": str(other), "new": [], "known": ["abcde"], "left": []}
    ]


@pytest.mark.parametrize(
    ("options", "fault"),
    [(("--name", "x"), "say what files these are with --format"), ((), "is not a run store")],
)
def test_other_files_need_a_format(
    options: tuple[str, ...], fault: str, tmp_path: Path, rig: Callable[..., Finished]
) -> None:
    (tmp_path / "results.json").write_text("[]")
    done = rig("import", tmp_path / "results.json", *options)
    assert done.code == 2
    assert fault in done.err


def test_a_store_that_is_not_there_is_called_so(tmp_path: Path, rig: Callable[..., Finished]) -> None:
    assert rig("import", tmp_path / "gone.sqlite").err == f"rig: {tmp_path / 'gone.sqlite'}: no such file\n"
