"""A store that is lost, full or damaged under rig: one line says so, and nothing that can be kept is lost."""

import os
import random
import re
import resource
import signal
import sqlite3
import subprocess
import sys
from collections.abc import Callable, Sequence
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest
import small_talks
import stored_runs

from rig.core.errors import RigError
from rig.core.events import Event, TurnFinished
from rig.running.control import Control
from rig.running.runner import run
from rig.store import Runs, StoreError, backup
from rig.store.connect import faults

Rig = Callable[..., Any]


def after_turn(number: int, act: Callable[[], object]) -> Callable[[Event], None]:
    """A listener that acts once so many turns are stored."""
    turns = [0]

    def listen(event: Event) -> None:
        turns[0] += isinstance(event, TurnFinished)
        if isinstance(event, TurnFinished) and turns[0] == number:
            act()

    return listen


def remove(path: Path) -> None:
    for each in path.parent.glob(f"{path.name}*"):
        each.unlink()


def replace_by(path: Path, content: bytes) -> None:
    remove(path)
    path.write_bytes(content)


def test_a_store_that_is_moved_in_mid_run_holds_the_run_where_it_is_then(tmp_path: Path) -> None:
    path, moved = tmp_path / "runs.sqlite", tmp_path / "moved.sqlite"
    todo = small_talks.plan(path, small_talks.oracle())
    assert run(todo, after_turn(3, lambda: path.rename(moved)), Control())
    assert small_talks.stored(moved).state == "finished"


def test_a_store_is_copied_while_it_is_written(tmp_path: Path, rig: Rig) -> None:
    path, copy = tmp_path / "runs.sqlite", tmp_path / "copy.sqlite"
    todo = small_talks.plan(path, small_talks.oracle())
    run(todo, after_turn(3, lambda: backup(path, copy)), Control())
    assert small_talks.stored(copy).turns_done == 3
    assert small_talks.stored(path).state == "finished"
    assert "is copied to" in rig("runs", "--runs", path, "--backup", tmp_path / "second.sqlite").out
    assert small_talks.stored(tmp_path / "second.sqlite").state == "finished"
    assert not [each for each in tmp_path.iterdir() if each.name.startswith(".")]
    refused = rig("runs", "--runs", path, "--backup", copy)
    assert refused.code == 2
    assert "copy.sqlite: exists; choose a new file" in refused.err
    nowhere = rig("runs", "--runs", path, "--backup", tmp_path / "no" / "copy.sqlite")
    assert f"there is no directory {tmp_path / 'no'}; create it or name another file" in nowhere.err
    for other in ("--json", "--datasette", "--tui"):
        assert "give it alone" in rig("runs", "--runs", path, "--backup", tmp_path / "x", other).err


def limited(place: Path, size: int, *arguments: str) -> subprocess.CompletedProcess[str]:
    """rig with files of at most so many bytes: as on a disk that is full, SQLite cannot write."""

    def limit() -> None:
        signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
        resource.setrlimit(resource.RLIMIT_FSIZE, (size, size))

    return subprocess.run(
        [sys.executable, "-m", "rig", *arguments, "--runs", str(place)],
        capture_output=True,
        text=True,
        preexec_fn=limit,
        timeout=120,
        check=False,
    )


@pytest.mark.slow
@pytest.mark.parametrize("size", [1_000, 70_000, 250_000, 600_000, 900_000])
def test_a_full_disk_is_one_line_and_loses_nothing(tmp_path: Path, size: int) -> None:
    place = tmp_path / "runs.sqlite"
    done = limited(
        place, size, "run", "oracle", "--suite", "easy", "--similarity", "exact", "--display", "none"
    )
    assert done.returncode == 2, done.stderr
    assert done.stderr.startswith("rig: ")
    assert done.stderr.count("\n") == 1, done.stderr
    with closing(sqlite3.connect(place)) as database:
        assert database.execute("PRAGMA integrity_check").fetchall() == [("ok",)]
        tables = database.execute("SELECT count(*) FROM sqlite_schema").fetchone()[0]
        begun = database.execute("SELECT id FROM runs").fetchone() if tables else None
    assert (begun is not None) == (size > 500_000)
    if begun is not None:
        stored = small_talks.stored(place, begun[0])
        assert stored.state == "interrupted"
        assert stored.turns_done > 0
        assert f"`rig run --resume {stored.id}`" in done.stderr
        again = limited(place, 1 << 30, "run", "--resume", stored.id, "--display", "none")
        assert again.returncode == 0, again.stderr


VERBS = (("runs",), ("runs", "--json"), ("show", "latest"), ("show", "latest", "alarms"))


@pytest.mark.slow
def test_a_damaged_store_is_one_line(tmp_path: Path, rig: Rig) -> None:
    """Bits are flipped all over the file; whatever is read is a result or one line, never a traceback."""
    path, damaged = tmp_path / "runs.sqlite", tmp_path / "damaged.sqlite"
    small_talks.play(small_talks.plan(path, small_talks.oracle()))
    whole, chance = path.read_bytes(), random.Random(19)
    faults = 0
    for _ in range(60):
        data = bytearray(whole)
        for _ in range(chance.choice((1, 3, 30))):
            data[chance.randrange(len(data))] ^= 1 << chance.randrange(8)
        damaged.write_bytes(data)
        for verb in VERBS:
            done = rig(*verb, "--runs", damaged)
            assert done.code in (0, 1, 2), done.err
            if done.code == 2:
                faults += 1
                assert done.err.count("\n") == 1
                assert done.err.startswith("rig: ")
        for left in tmp_path.glob("damaged.sqlite-*"):
            left.unlink()
    assert faults > 10


@pytest.mark.parametrize(
    "statement",
    [
        "UPDATE runs SET declaration = substr(declaration, 3)",
        "UPDATE runs SET declaration = '{}'",
        "UPDATE runs SET settings = '['",
        "UPDATE runs SET created = 'then'",
        "UPDATE sources SET json = substr(json, 2)",
        "UPDATE predictions SET token_ids = '{'",
        "UPDATE predictions SET executed = '[]' WHERE kind = 'call'",
        "UPDATE predictions SET raw = CAST(x'ff80' AS TEXT)",
        "PRAGMA user_version = 2",
        "PRAGMA application_id = 0",
        "DROP TABLE turns",
    ],
)
def test_what_rig_never_wrote_is_one_line_that_names_the_store(
    tmp_path: Path, rig: Rig, statement: str
) -> None:
    path = tmp_path / "runs.sqlite"
    small_talks.play(small_talks.plan(path, small_talks.oracle()))
    with closing(sqlite3.connect(path)) as database:
        database.execute("PRAGMA foreign_keys = OFF")
        database.execute(statement)
        database.commit()
    ends = [rig(*verb, "--runs", path) for verb in VERBS]
    bad = [end for end in ends if end.code == 2]
    assert bad
    for end in bad:
        assert end.err.startswith(f"rig: {path}: ")
        assert end.err.count("\n") == 1


@pytest.mark.parametrize(
    ("statement", "verb"),
    [
        ("UPDATE error_types SET error_type = x'03'", ("compare", "latest")),
        (
            "UPDATE turns SET wall_s = x'00'",
            ("watch", "latest", "--display", "log", "--speed", "max"),
        ),
        (
            "UPDATE predictions SET arguments = '{' WHERE arguments IS NOT NULL",
            ("export", "latest", "--format", "jsonl"),
        ),
        ("UPDATE predictions SET kind = 'cakl'", ("import", "STORE")),
        ("UPDATE runs SET declaration = '{', settings = '{'", ("import", "STORE")),
    ],
)
def test_what_no_reader_was_prepared_for_is_one_line(
    tmp_path: Path, rig: Rig, statement: str, verb: Sequence[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    path, other = stored_runs.write(tmp_path / "runs.sqlite"), tmp_path / "other.sqlite"
    with closing(sqlite3.connect(path)) as database, database:
        database.execute("PRAGMA ignore_check_constraints = ON")
        assert database.execute(statement).rowcount
    words = [path if word == "STORE" else word for word in verb]
    runs = other if "STORE" in verb else path
    done = rig(*words, "--runs", runs)
    assert (done.code, done.err.count("\n")) == (2, 1), done.err
    assert done.err.startswith(f"rig: {path}: ")
    assert "damaged" in done.err
    if "RIG_TRACEBACK" in done.err:
        monkeypatch.setenv("RIG_TRACEBACK", "1")
        with pytest.raises((TypeError, ValueError)):
            rig(*words, "--runs", runs)


def test_a_folder_that_cannot_be_searched_is_one_line(tmp_path: Path, rig: Rig) -> None:
    if os.geteuid() == 0:
        pytest.skip("root may search anywhere")
    (tmp_path / "shut").mkdir(mode=0o000)
    done = rig("runs", "--runs", tmp_path / "shut" / "runs.sqlite")
    assert (done.code, done.err.count("\n")) == (2, 1)


def change(path: Path, statement: str) -> None:
    """What another program may do to a store in use, which knows nothing of what belongs to what."""
    with closing(sqlite3.connect(path)) as database, database:
        database.execute(statement)


@pytest.mark.parametrize(
    ("statement", "said"),
    [
        ("DELETE FROM runs", "run abcde was deleted while it was written; start a new run"),
        ("ALTER TABLE turns RENAME COLUMN wall_s TO other", "no column named wall_s; it is damaged"),
        (
            "CREATE TRIGGER t BEFORE INSERT ON turns BEGIN SELECT RAISE(ABORT, 'no more'); END",
            "no more; it is damaged",
        ),
        (
            "CREATE UNIQUE INDEX one ON turns (arm) WHERE id > 3",
            "UNIQUE constraint failed: turns.* it is damaged",
        ),
    ],
)
def test_what_another_program_does_to_a_run_is_one_line(tmp_path: Path, statement: str, said: str) -> None:
    path = tmp_path / "runs.sqlite"
    todo = small_talks.plan(path, small_talks.oracle())
    with pytest.raises(StoreError, match=f"runs.sqlite: .*{said}"):
        run(todo, after_turn(3, lambda: change(path, statement)), Control())


@pytest.mark.parametrize(
    ("statement", "said"),
    [
        (
            "UPDATE sources SET sha256 = replace(sha256, 'a', 'b') || 'x'",
            "the file of .* is not there; it is damaged",
        ),
        ("UPDATE arms SET position = 7", "the arms of a run are not numbered from 0; it is damaged"),
        (
            "UPDATE conversations SET suite = cast(x'ff41' AS TEXT)",
            "Could not decode to UTF-8 .*; it is damaged",
        ),
        (
            "UPDATE runs SET declaration = replace(declaration, '\"tables\"', '\"tablet\"')",
            "'tablet' is no place of a metric; it is damaged",
        ),
    ],
)
def test_a_store_with_damaged_values_is_one_line(tmp_path: Path, rig: Rig, statement: str, said: str) -> None:
    path = tmp_path / "runs.sqlite"
    small_talks.play(small_talks.plan(path, small_talks.oracle()))
    change(path, statement)
    for verb in (
        ("score", "latest", "--similarity", "exact"),
        ("report", "latest", "-o", tmp_path / "report.html"),
    ):
        shown = rig(*verb, "--runs", path)
        assert (shown.code, shown.err.count("\n")) == (2, 1)
        assert re.search(rf"runs\.sqlite: .*{said}", shown.err)


def test_a_run_that_is_deleted_before_it_is_claimed_is_one_line(tmp_path: Path) -> None:
    path = tmp_path / "runs.sqlite"
    small_talks.play(small_talks.plan(path, small_talks.oracle()))
    todo = small_talks.plan(path, small_talks.oracle(), resume=True)
    with closing(sqlite3.connect(path)) as database:
        database.execute("DELETE FROM runs")
        database.commit()
    with pytest.raises(RigError, match="run abcde is not in"):
        run(todo, lambda _: None, Control())


def test_another_process_at_work_is_no_reason_for_another_file(tmp_path: Path, rig: Rig) -> None:
    path = tmp_path / "runs.sqlite"
    small_talks.play(small_talks.plan(path, small_talks.oracle()))
    with pytest.raises(StoreError, match="try again when it is done"), Runs.open(path):
        raise sqlite3_error(sqlite3.SQLITE_BUSY)


@pytest.mark.parametrize(
    ("code", "said"),
    [
        (sqlite3.SQLITE_BUSY, "when it is done, continue with `rig run --resume abcde`"),
        (sqlite3.SQLITE_READONLY, "fix this, then continue with `rig run --resume abcde`"),
        (sqlite3.SQLITE_FULL, "fix this, then continue with `rig run --resume abcde`"),
    ],
)
def test_a_run_that_could_not_be_written_further_is_continued(code: int, said: str) -> None:
    with pytest.raises(StoreError, match=said), faults(Path("runs.sqlite"), "abcde"):
        raise sqlite3_error(code)


@pytest.mark.parametrize("code", [sqlite3.SQLITE_FULL, sqlite3.SQLITE_IOERR, sqlite3.SQLITE_NOMEM])
def test_who_only_reads_has_nothing_to_resume(tmp_path: Path, code: int) -> None:
    path = tmp_path / "runs.sqlite"
    small_talks.play(small_talks.plan(path, small_talks.oracle()))
    with pytest.raises(StoreError, match=r"fix this, then try again$"), Runs.open(path):
        raise sqlite3_error(code)


def sqlite3_error(code: int) -> sqlite3.OperationalError:
    error = sqlite3.OperationalError("database is locked")
    error.sqlite_errorcode = code
    return error
