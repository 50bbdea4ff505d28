"""Which files may be a run store, and what is said of the others."""

import os
import shutil
import sqlite3
import threading
from collections.abc import Callable
from contextlib import closing
from pathlib import Path

import pytest
import small_talks
from sqlite_utils import Database

from rig.core.metrics import TASKS
from rig.store import Runs, RunWriter, StoreError, check_writable
from rig.store.connect import backup, connect_for_writing, transaction


def _text(path: Path) -> None:
    path.write_text("a shopping list, not a database" * 50)


def _other_database(path: Path) -> None:
    with closing(Database(path)) as database:
        database.table("stars").insert({"name": "Vega"})


def _other_version(path: Path) -> None:
    connect_for_writing(path).close()
    with closing(Database(path)) as database:
        database.execute("PRAGMA user_version = 7")


def _directory(path: Path) -> None:
    path.mkdir()


def _truncated(path: Path) -> None:
    small_talks.play(small_talks.plan(path, small_talks.oracle()))
    with path.open("r+b") as file:
        file.truncate(5000)


BAD: list[tuple[Callable[[Path], None], str]] = [
    (_text, "not a database"),
    (_other_database, "not a run store"),
    (_other_version, "has version 7 of the run store, and this rig reads version 1; use the rig"),
    (_directory, "directory"),
    (_truncated, "malformed"),
]


@pytest.mark.parametrize(("make", "fault"), BAD, ids=[fault for _, fault in BAD])
def test_a_file_that_is_no_store_is_refused_in_one_line_and_left_alone(
    tmp_path: Path, make: Callable[[Path], None], fault: str
) -> None:
    path = tmp_path / "runs.sqlite"
    make(path)
    before = path.read_bytes() if path.is_file() else None
    for attempt in (check_writable, connect_for_writing, _read):
        with pytest.raises(StoreError) as caught:
            attempt(path)
        assert "\n" not in str(caught.value)
        assert str(path) in str(caught.value)
    assert fault in str(caught.value) or fault == "directory"
    assert (path.read_bytes() if path.is_file() else None) == before


def _read(path: Path) -> None:
    with Runs.open(path) as runs:
        runs.all()


def test_a_missing_directory_is_named(tmp_path: Path) -> None:
    with pytest.raises(StoreError, match="no directory"):
        check_writable(tmp_path / "no" / "runs.sqlite")
    assert not list(tmp_path.iterdir())


@pytest.mark.skipif(os.geteuid() == 0, reason="root may write anywhere")
def test_a_directory_that_cannot_be_written_is_named(tmp_path: Path) -> None:
    tmp_path.chmod(0o500)
    with pytest.raises(StoreError, match="not writable"):
        check_writable(tmp_path / "runs.sqlite")


def test_a_denied_directory_is_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(os, "access", lambda path, mode: False)
    with pytest.raises(StoreError, match="not writable"):
        check_writable(tmp_path / "runs.sqlite")


def test_checking_writes_nothing(tmp_path: Path) -> None:
    check_writable(tmp_path / "runs.sqlite")
    assert not list(tmp_path.iterdir())


def test_reading_needs_a_file(tmp_path: Path) -> None:
    with pytest.raises(StoreError, match="no such file"):
        _read(tmp_path / "runs.sqlite")
    assert not list(tmp_path.iterdir())


def test_a_store_can_be_read_where_nothing_may_be_written(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "runs.sqlite"
    small_talks.play(small_talks.plan(path, small_talks.oracle()))
    monkeypatch.setattr(os, "access", lambda path, mode: mode == os.R_OK)
    with Runs.open(path) as runs:
        assert [run.id for run in runs.all()] == ["abcde"]
    assert [file.name for file in tmp_path.iterdir()] == ["runs.sqlite"]


def test_readers_cannot_write(tmp_path: Path) -> None:
    path = tmp_path / "runs.sqlite"
    connect_for_writing(path).close()
    with Runs.open(path) as runs, pytest.raises(sqlite3.OperationalError, match="readonly"):
        runs._database.execute("DELETE FROM runs")


def test_a_store_uses_the_write_ahead_log_and_foreign_keys(tmp_path: Path) -> None:
    with closing(connect_for_writing(tmp_path / "runs.sqlite")) as database:
        assert database.journal_mode == "wal"
        assert database.execute("PRAGMA foreign_keys").fetchone() == (1,)
        assert database.execute("PRAGMA foreign_key_check").fetchall() == []


def test_closing_leaves_one_file(tmp_path: Path) -> None:
    path = tmp_path / "runs.sqlite"
    small_talks.play(small_talks.plan(path, small_talks.oracle()))
    _read(path)
    assert [file.name for file in tmp_path.iterdir()] == ["runs.sqlite"]


def test_many_processes_may_create_a_store_at_once(tmp_path: Path) -> None:
    path = tmp_path / "runs.sqlite"
    faults: list[BaseException] = []

    def create(number: int) -> None:
        try:
            todo = small_talks.plan(path, small_talks.oracle(), run=f"run{number}")
            RunWriter.create(path, todo.as_new_run()).close()
        except BaseException as error:
            faults.append(error)

    threads = [threading.Thread(target=create, args=(number,)) for number in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not faults
    with Runs.open(path) as runs:
        assert len(runs.all()) == 8


def test_a_turn_is_stored_whole_or_not_at_all(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from rig.store import writer

    path = tmp_path / "runs.sqlite"
    todo = small_talks.plan(path, small_talks.oracle())
    monkeypatch.setattr(writer, "step_row", lambda *parts: {"turn": None})
    with pytest.raises(sqlite3.IntegrityError):
        small_talks.play(todo)
    assert small_talks.content(path)["turns"] == []


def test_a_full_disk_is_said_in_one_line(tmp_path: Path) -> None:
    path = tmp_path / "runs.sqlite"
    todo = small_talks.plan(path, small_talks.oracle())
    with RunWriter.create(path, todo.as_new_run()) as writer:
        pages = writer._database.execute("PRAGMA page_count").fetchone()[0]
        writer._database.execute(f"PRAGMA max_page_count = {pages}")
        with pytest.raises(StoreError, match="full"):
            writer.note(0, "failure", "reason" * 100_000)


def test_the_suite_of_a_conversation_is_stored(tmp_path: Path) -> None:
    from dataclasses import replace

    path = tmp_path / "runs.sqlite"
    conversations = tuple(replace(each, suite="mine") for each in small_talks.conversations())
    small_talks.play(small_talks.plan(path, small_talks.oracle(), conversations=conversations))
    with Runs.open(path) as runs:
        run = runs.get("abcde")
        assert [each.suite for each in runs.conversations(run)] == ["mine"] * 3
        assert [score.suite for score in runs.scores(run)] == [None]
        [score] = runs.suite_scores(run)
    assert (score.suite, score.counts[TASKS]) == ("mine", 3)


def _left_log(path: Path, folder: Path) -> None:
    """Put aside the log that a process leaves if it is killed after it has stored more."""
    with closing(connect_for_writing(path)) as database:
        for number in range(40):
            database.execute(f"CREATE TABLE later_{number} (a)")
        database.conn.commit()
        folder.mkdir()
        for ending in ("-wal", "-shm"):
            shutil.copy(f"{path}{ending}", folder / f"runs.sqlite{ending}")


def test_a_copy_beside_the_log_of_another_store_is_left_intact(tmp_path: Path) -> None:
    path, copy = tmp_path / "runs.sqlite", tmp_path / "copy.sqlite"
    small_talks.play(small_talks.plan(path, small_talks.oracle()))
    backup(path, copy)
    with closing(connect_for_writing(path)) as database:
        # The store that went on has pages that its copy lacks.
        database.execute("CREATE TABLE sooner AS SELECT zeroblob(100000) AS a")
        database.conn.commit()
    _left_log(path, tmp_path / "killed")
    shutil.copy(copy, path)
    for ending in ("-wal", "-shm"):
        shutil.copy(tmp_path / "killed" / f"runs.sqlite{ending}", f"{path}{ending}")
    before = path.read_bytes()
    message = (
        f"^{path}-wal: is the log of another store and would damage runs.sqlite, which is intact; move it"
    )
    for opening in (lambda: Runs.open(path).__enter__(), lambda: check_writable(path)):
        with pytest.raises(StoreError, match=message):
            opening()
    assert path.read_bytes() == before == copy.read_bytes()
    for ending in ("-wal", "-shm"):
        Path(f"{path}{ending}").unlink()
    with Runs.open(path) as runs:
        assert len(runs.all()) == 1


def test_the_log_of_a_killed_process_is_its_stores(tmp_path: Path) -> None:
    path = tmp_path / "runs.sqlite"
    small_talks.play(small_talks.plan(path, small_talks.oracle()))
    main = path.read_bytes()
    _left_log(path, tmp_path / "killed")
    path.write_bytes(main)
    for ending in ("-wal", "-shm"):
        shutil.copy(tmp_path / "killed" / f"runs.sqlite{ending}", f"{path}{ending}")
    with Runs.open(path) as runs:
        assert "later_39" in runs._database.table_names()


def test_a_transaction_that_could_not_be_taken_back_is_by_the_next(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def short(_: object) -> None:
        raise MemoryError

    def fail(database: Database) -> None:
        with transaction(database):
            database.execute("CREATE TABLE half (id)")
            raise ValueError

    with closing(connect_for_writing(tmp_path / "runs.sqlite")) as database:
        with monkeypatch.context() as patched:
            patched.setattr(Database, "rollback", short)
            with pytest.raises(MemoryError):
                fail(database)
        assert database.conn.in_transaction
        with transaction(database):
            database.execute("CREATE TABLE whole (id)")
        assert {"half", "whole"} & {*database.table_names()} == {"whole"}
