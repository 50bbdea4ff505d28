"""Copy runs from another store into this one, without duplicates."""

import hashlib
import sqlite3
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from rig.core.errors import RigError
from rig.core.files import beginning, json_text
from rig.core.sqlite_import import Database
from rig.store import Runs, connect
from rig.store.deletion import new_run_id
from rig.store.holder import held_by
from rig.store.views import refresh_views

_MAGIC = "SQLite format 3\0"

_OF_ARMS = "arm IN (SELECT id FROM other.arms WHERE run = :run)"

_OF_SCORES = f"score IN (SELECT id FROM other.scores WHERE {_OF_ARMS})"

_NUMBERED = {
    "arms": "run = :run",
    "conversations": "run = :run",
    "turns": _OF_ARMS,
    "predictions": f"turn IN (SELECT id FROM other.turns WHERE {_OF_ARMS})",
    "attempts": _OF_ARMS,
    "scores": _OF_ARMS,
    "faults": _OF_SCORES,
}
"""Tables whose rows have ids, each after those it refers to, with the condition for the rows of a run."""

_TABLES = {**_NUMBERED, **dict.fromkeys(("counts", "error_types", "verdicts"), _OF_SCORES)}
"""The same, and tables whose rows belong to a score and have no id."""

_REFERS = {
    "arm": "arms",
    "conversation": "conversations",
    "turn": "turns",
    "score": "scores",
    "prediction": "predictions",
}
"""Columns that hold the id of a row, with its table. `turn` is one only in predictions."""


@dataclass(frozen=True, slots=True)
class Merged:
    """The result of importing the runs of another store.

    `new` and `known` are ids here; `left` says why runs were not imported.
    """

    new: list[str] = field(default_factory=list)
    known: list[str] = field(default_factory=list)
    left: list[str] = field(default_factory=list)


def is_store(path: Path) -> bool:
    """Return whether a file begins like a SQLite database."""
    return beginning(path, len(_MAGIC)) == _MAGIC


def merge(path: Path, other: Path) -> Merged:
    """Store the runs of `other` in the store at `path`; `other` is only read.

    A run that is already here with the same predictions is not stored again. One with other predictions here,
    or that is being written, is skipped. Raises StoreError, and RigError for a file that is not a store.
    """
    if not other.is_file():
        raise RigError(f"{other}: no such file")
    if path.exists() and path.samefile(other):
        raise RigError(f"{other}: is your own run store; name another file")
    merged = Merged()
    with tempfile.TemporaryDirectory(prefix="rig-import-") as folder:
        copy = Path(folder) / "other.sqlite"
        with _damage_of(other, copy):
            running = _copy(other, copy)
            with Runs.open(copy) as runs:
                runs.all()  # what cannot be read would make this store unreadable as well
            with connect.writing(path) as database:
                database.execute("ATTACH ? AS other", [str(copy)])
                rows = list(database.query("SELECT * FROM other.runs ORDER BY created, rowid"))
                for row in rows:
                    if row["id"] in running:
                        merged.left.append(f"run {row['id']} is being written; import it when it has ended")
                    else:
                        _take(database, path, row, merged)
                database.execute("DETACH other")
    return merged


@contextmanager
def _damage_of(other: Path, copy: Path) -> Iterator[None]:
    """Attribute faults in the copy of a store, and integrity errors when its rows arrive, to the original."""
    try:
        with connect.understood(other):
            yield
    except sqlite3.IntegrityError as error:
        raise connect.StoreError(f"{other}: {error}; it is damaged; import a copy of it") from error
    except connect.StoreError as error:
        raise connect.StoreError(str(error).replace(str(copy), str(other))) from error


def _copy(other: Path, copy: Path) -> set[str]:
    """Copy a store to another file. Return which of its runs are being written."""
    with connect.copied(other, copy) as database:
        if not connect.identify(database, other):
            raise RigError(f"{other}: is not a run store")
        return {row["id"] for row in database.query("SELECT * FROM runs") if held_by(row, other)}


def _take(database: Database, path: Path, row: dict[str, Any], merged: Merged) -> None:
    same = "SELECT id FROM main.runs WHERE created = ? AND settings = ? AND repeats = ?"
    twins = [twin["id"] for twin in database.query(same, [row["created"], row["settings"], row["repeats"]])]
    digest = _content(database, "other", row["id"]) if twins else ""
    for twin in twins:
        if _content(database, "main", twin) == digest:
            merged.known.append(twin)
            return
    if twins:
        merged.left.append(f"run {row['id']} is here as {twins[0]} with other turns; delete that one first")
        return
    with connect.transaction(database):
        same_id = next(database.query("SELECT 1 FROM main.runs WHERE id = ?", [row["id"]]), None)
        run = new_run_id(path) if same_id else row["id"]
        _insert(database, row, run)
        refresh_views(database)
    merged.new.append(run)


def _insert(database: Database, row: dict[str, Any], run: str) -> None:
    """Copy a run with all that belongs to it. Its ids are raised above those in use here."""
    values = {"run": row["id"], "new": run}
    database.table("runs").insert({**row, "id": run, "writer": None, "heartbeat": None})
    for columns, table, key in (
        ("sha256, json", "sources", "sha256"),
        ("source, method, json", "task_views", "source"),
    ):
        database.execute(
            f"INSERT OR IGNORE INTO main.{table} SELECT {columns} FROM other.{table}"
            f" WHERE {key} IN (SELECT source FROM other.conversations WHERE run = :run)",
            {"run": row["id"]},
        )
    numbers = "SELECT coalesce(max(id), 0), coalesce((SELECT min(id) FROM other.{0}), 1) FROM main.{0}"
    raised = {}
    for name in _NUMBERED:
        [[here, there]] = database.execute(numbers.format(name))
        raised[name] = int(here) - min(int(there), 1) + 1
    for name, of_run in _TABLES.items():
        terms = {}
        for column in database.query(f"SELECT name FROM pragma_table_info('{name}')"):
            term = f'"{column["name"]}"'
            to = name if column["name"] == "id" else _REFERS.get(column["name"])
            if to in raised and (column["name"] != "turn" or name == "predictions"):
                terms[term] = f"{term} + {raised[to]}"
            else:
                terms[term] = ":new" if column["name"] == "run" else term
        query = f"({', '.join(terms)}) SELECT {', '.join(terms.values())} FROM other.{name} WHERE {of_run}"
        database.execute(f"INSERT INTO main.{name} {query}", values)


def _content(database: Database, where: str, run: str) -> str:
    """Return a digest of what a run is made of: arms, conversations, and every prediction as it was made."""
    digest = hashlib.sha256()
    for query in (
        f"SELECT name, fingerprint_sha256 FROM {where}.arms WHERE run = ? ORDER BY position",
        f"SELECT name, source FROM {where}.conversations WHERE run = ? ORDER BY position",
        "SELECT arms.position AS arm, conversations.position AS conversation, repeat, turns.turn, step,"
        " kind, raw, tool, arguments, reply, predictions.error, token_ids"
        f" FROM {where}.turns JOIN {where}.arms ON arms.id = turns.arm"
        f" JOIN {where}.conversations ON conversations.id = turns.conversation"
        f" LEFT JOIN {where}.predictions ON predictions.turn = turns.id"
        " WHERE arms.run = ? ORDER BY 1, 2, 3, 4, 5",
    ):
        for row in database.execute(query, [run]):
            digest.update(json_text(list(row)).encode() + b"\n")
    return digest.hexdigest()
