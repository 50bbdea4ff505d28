"""What lies beside a database does nothing to other files, whoever wrote it and whenever."""

import ast
import os
import sqlite3
from collections.abc import Callable, Iterator, Sequence
from contextlib import closing, contextmanager
from pathlib import Path

import hot_journals
import pytest
import small_talks

from benchmarks.attack import stores
from benchmarks.attack.campaign import rig
from rig.core import databases
from rig.plugins.exports.merging import merge
from rig.plugins.mcp.state import Files, records
from rig.store import Runs, StoreError, check_writable
from rig.store.connect import backup, connect_for_writing

CHECKOUT = Path(__file__).resolve().parents[2]


@pytest.fixture
def store(tmp_path: Path) -> Path:
    path = tmp_path / "place" / "runs.sqlite"
    path.parent.mkdir()
    small_talks.play(small_talks.plan(path, small_talks.oracle()))
    return path


@pytest.fixture
def victim(tmp_path: Path) -> Path:
    path = tmp_path / "thesis.txt"
    path.write_text("three years of work")
    return path


def _rolled_back(path: Path) -> None:
    """Give a store the mode in which SQLite writes journals."""
    with closing(sqlite3.connect(path)) as database:
        database.execute("PRAGMA journal_mode = DELETE")


def _content(folder: Path) -> dict[str, bytes]:
    return {path.name: path.read_bytes() for path in folder.iterdir() if path.is_file()}


def test_such_a_journal_makes_sqlite_delete_a_file(store: Path, victim: Path) -> None:
    hot_journals.leave(store, victim)
    with closing(sqlite3.connect(store)) as database:
        database.execute("SELECT count(*) FROM runs")
    assert not victim.exists()


@pytest.mark.parametrize("verb", stores.VERBS, ids=" ".join)
def test_no_verb_applies_a_journal(store: Path, victim: Path, verb: Sequence[str]) -> None:
    journal = hot_journals.leave(store, victim)
    before = _content(store.parent)
    names = {"REPORT": "report.html", "EXPORT": "export", "COPY": "copy.sqlite", "STORE": "runs.sqlite"}
    words = [store.parent / names[word] if word in names else word for word in verb]
    runs = store.with_name("other.sqlite") if "STORE" in verb else store
    refused = rig(*words, "--runs", runs)
    assert refused.code == 2
    [line] = refused.err.splitlines()
    assert line.startswith(f"rig: {journal}: is the journal of another program")
    assert _content(store.parent) == before
    assert victim.exists()


def _open(path: Path) -> None:
    with Runs.open(path) as runs:
        runs.all()


OPENINGS: dict[str, Callable[[Path], object]] = {
    "reading": _open,
    "checking": check_writable,
    "writing": lambda path: connect_for_writing(path).close(),
    "copying": lambda path: backup(path, path.with_name("copy.sqlite")),
    "importing": lambda path: merge(path.with_name("other.sqlite"), path),
}


@pytest.mark.parametrize("mode", ["log", "journal"])
@pytest.mark.parametrize("opening", OPENINGS.values(), ids=OPENINGS)
def test_a_journal_is_not_applied_whatever_its_mode_and_name(
    store: Path, victim: Path, tmp_path: Path, opening: Callable[[Path], object], mode: str
) -> None:
    if mode == "journal":
        _rolled_back(store)
    link = tmp_path / "linked.sqlite"
    link.symlink_to(store)
    for path in (store, link):
        for target in (None, victim, tmp_path / "place" / "runs.sqlite-mj0"):
            journal = hot_journals.leave(store, target)
            before = _content(store.parent)
            with pytest.raises(StoreError, match=f"^{journal}: is the journal of another program"):
                opening(path)
            assert _content(store.parent) == before
            journal.unlink()
    hot_journals.leave(store, victim, "-mj9")
    opening(store)
    assert victim.exists()


@pytest.mark.parametrize("ending", ["-journal", "-wal", "-shm"])
@pytest.mark.parametrize("kind", ["link", "second name", "folder"])
def test_what_lies_beside_a_store_is_no_other_file(store: Path, victim: Path, ending: str, kind: str) -> None:
    beside = store.with_name(f"{store.name}{ending}")
    make = {"link": beside.symlink_to, "second name": beside.hardlink_to}
    make[kind](victim) if kind in make else beside.mkdir()
    for opening in OPENINGS.values():
        with pytest.raises(StoreError, match=f"^{beside}: has another name or is no regular file"):
            opening(store)
    assert victim.read_text() == "three years of work"


def test_the_blanked_journal_of_a_program_that_keeps_its_own_is_left_alone(store: Path) -> None:
    journal = store.with_name(f"{store.name}-journal")
    journal.write_bytes(bytes(600))
    _open(store)
    connect_for_writing(store).close()
    assert journal.read_bytes() == bytes(600)


@pytest.mark.parametrize("mode", ["log", "journal"])
@pytest.mark.parametrize("opening", ["reading", "writing"])
def test_a_journal_that_appears_while_a_store_is_opened_is_not_applied(
    store: Path, victim: Path, monkeypatch: pytest.MonkeyPatch, opening: str, mode: str
) -> None:
    if mode == "journal":
        _rolled_back(store)
    monkeypatch.setattr(databases, "BUSY_S", 0.1)
    guarded = databases._guarded
    opened = databases.open_for_reading if opening == "reading" else databases.open_for_writing
    moments = {"before": 0, "within": 0, "after": 0}

    for moment in moments:

        @contextmanager
        def racing(path: Path, moment: str = moment) -> Iterator[sqlite3.Connection]:
            if moment == "before":
                hot_journals.leave(store, victim)
            with guarded(path) as guard:
                if moment == "within":
                    hot_journals.leave(store, victim)
                yield guard
            if moment == "after":
                hot_journals.leave(store, victim)

        monkeypatch.setattr(databases, "_guarded", racing)
        monkeypatch.setattr(databases, "_check_beside", lambda path: None)
        try:
            with closing(opened(store)) as database:
                database.execute("SELECT count(*) FROM runs").fetchone()
                if opening == "writing":
                    database.execute("UPDATE runs SET writer = NULL")
                    database.commit()
        except (sqlite3.OperationalError, databases.ForeignJournal):
            moments[moment] = 1
        assert victim.exists(), moment
        store.with_name(f"{store.name}-journal").unlink()
    assert moments["before"] == 1


def test_a_store_never_has_a_journal_of_rigs(tmp_path: Path, store: Path) -> None:
    _rolled_back(store)
    opened: list[str] = []

    def look() -> None:
        opened.extend(path.name for path in (*tmp_path.iterdir(), *store.parent.iterdir()))

    for path in (store, tmp_path / "new.sqlite"):
        with closing(connect_for_writing(path)) as database:
            database.conn.set_progress_handler(look, 1)
            database.execute("UPDATE runs SET name = 'other'")
            database.conn.commit()
            look()
    assert {"runs.sqlite-wal", "new.sqlite-wal"} <= {*opened}
    assert not [name for name in opened if name.endswith("-journal")]


def test_a_journal_in_a_folder_that_cannot_be_written_is_refused(
    store: Path, victim: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(os, "access", lambda path, mode: mode == os.R_OK)
    hot_journals.leave(store, victim)
    with pytest.raises(StoreError, match="is the journal of another program"):
        _open(store)


@pytest.mark.parametrize("names_a_victim", [True, False])
def test_a_servers_database_is_read_without_what_its_journal_names(
    tmp_path: Path, victim: Path, names_a_victim: bool
) -> None:
    folder, depot = tmp_path / "state", tmp_path / "depot"
    folder.mkdir()
    with closing(sqlite3.connect(folder / "x.db")) as database, database:
        database.execute("CREATE TABLE pens (name)")
        database.execute("INSERT INTO pens VALUES ('red')")
    hot_journals.leave(folder / "x.db", victim if names_a_victim else None)
    manifest = Files(folder, depot).take()
    [(_, content, rows)] = [entry for entry in records(manifest, depot, ()) if entry[0] == "x.db"]
    assert victim.exists()
    assert (content == "a database") is not names_a_victim
    assert [row for table, row in rows if row.startswith("(")] == ([] if names_a_victim else ["('red',)"])
    assert not (depot / "reading").exists()


@pytest.mark.slow
def test_a_servers_database_shows_no_more_than_it_holds(tmp_path: Path) -> None:
    folder, depot = tmp_path / "state", tmp_path / "depot"
    folder.mkdir()
    with closing(sqlite3.connect(folder / "x.db")) as database, database:
        database.execute("CREATE TABLE pens (a, b AS (hex(zeroblob(20000000))))")
        database.executemany("INSERT INTO pens VALUES (?)", [(number,) for number in range(40)])
    [(_, content, rows)] = records(Files(folder, depot).take(), depot, ())
    assert "SHA-256" in str(content)
    assert not rows


def test_only_one_module_opens_sqlite() -> None:
    """Everything else takes a connection from `rig.core.databases`."""
    strays = []
    for path in (*(CHECKOUT / "rig").rglob("*.py"), *(CHECKOUT / "tui").rglob("*.py")):
        if path == CHECKOUT / "rig" / "core" / "databases.py":
            continue
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if isinstance(node, ast.Call):
                name = ast.unparse(node.func)
                is_wrapped = any(word.arg == "execute_plugins" for word in node.keywords) and node.args
                if name in ("sqlite3.connect", "sqlite3.Connection", "connect") or (
                    name.endswith("Database") and not is_wrapped
                ):
                    strays.append(f"{path.relative_to(CHECKOUT)}:{node.lineno}")
            elif isinstance(node, ast.ImportFrom | ast.Import):
                names = {alias.name for alias in node.names}
                if getattr(node, "module", "") == "sqlite3" or names & {"apsw", "sqlite3.dbapi2"}:
                    strays.append(f"{path.relative_to(CHECKOUT)}:{node.lineno}")
    assert not strays
