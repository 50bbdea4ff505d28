"""The difference between two worlds: records added, changed and removed, column by column."""

import sqlite3
from collections.abc import Iterator
from contextlib import closing
from dataclasses import dataclass
from typing import Any, Literal, TypeAlias

from rig.calls import Json, JsonObject
from rig.toolbox.values import decode, value_of
from rig.toolbox.world import RECORDED_CALLS, Snapshot, Tables, stored_lists

LIMIT = 50
"""Records of a diff, by default."""

_BOOKKEEPING = ("session", "id_generators", RECORDED_CALLS)
"""Tables that hold no user's things: the clock, who is logged in, how many ids were drawn. They come last."""

_Rows: TypeAlias = dict[tuple[Any, ...], dict[str, Any]]


@dataclass(frozen=True, slots=True)
class ColumnChange:
    """A column of a record; `before` is None if the record was added, `after` where it was removed."""

    name: str
    before: Json
    after: Json


@dataclass(frozen=True, slots=True)
class RecordChange:
    """A record that is different. `key` names it: column and value; `columns` are the others that differ.

    Of records added or removed, `columns` are those that are not null.
    """

    table: str
    key: tuple[tuple[str, Json], ...]
    kind: Literal["added", "changed", "removed"]
    columns: tuple[ColumnChange, ...]

    @property
    def is_bookkeeping(self) -> bool:
        """Whether nobody's things are concerned, but the simulator's own state."""
        return self.table in _BOOKKEEPING

    def as_json(self) -> JsonObject:
        """All of it by name."""
        return {
            "table": self.table,
            "key": dict(self.key),
            "kind": self.kind,
            "columns": {column.name: [column.before, column.after] for column in self.columns},
        }


@dataclass(frozen=True, slots=True)
class WorldDiff:
    """The records that differ, table by table; `omitted` counts those beyond the limit."""

    changes: tuple[RecordChange, ...] = ()
    omitted: int = 0

    def as_json(self) -> JsonObject:
        """All of it by name."""
        return {"changes": [change.as_json() for change in self.changes], "omitted": self.omitted}


def diff(before: Snapshot, after: Snapshot, tables: Tables, limit: int = LIMIT) -> WorldDiff:
    """How `after` differs from `before`, in at most `limit` records."""
    if before == after:
        return WorldDiff()
    with closing(open_snapshot(before)) as old, closing(open_snapshot(after)) as new:
        names = record_tables(new, tables)
        changes = [change for table in names for change in _changes(table, tables, old, new)]
    return WorldDiff(tuple(changes[:limit]), max(len(changes) - limit, 0))


def open_snapshot(snapshot: Snapshot) -> sqlite3.Connection:
    """A world's database in memory, to be closed."""
    connection = sqlite3.connect(":memory:")
    connection.deserialize(snapshot.image)
    return connection


def record_tables(database: sqlite3.Connection, tables: Tables) -> list[str]:
    """The tables whose rows are records, and not parts of other records."""
    parts = {elements.table for elements in tables.lists.values()}
    rows = database.execute("SELECT name FROM sqlite_schema WHERE type = 'table'").fetchall()
    names = [name for (name,) in rows if name not in parts and not name.startswith("sqlite_")]
    return sorted(names, key=lambda name: name in _BOOKKEEPING)


def _changes(
    table: str, tables: Tables, old: sqlite3.Connection, new: sqlite3.Connection
) -> Iterator[RecordChange]:
    key, before = stored_rows(table, tables, old)
    _, after = stored_rows(table, tables, new)
    if before == after:
        return
    for record in dict.fromkeys([*before, *after]):
        one, other = before.get(record), after.get(record)
        if one == other:
            continue
        kind: Literal["added", "changed", "removed"] = (
            "added" if one is None else "removed" if other is None else "changed"
        )
        named = tuple(zip(key, map(decode, record), strict=True))
        pairs = ((name, (one or {}).get(name), (other or {}).get(name)) for name in other or one or ())
        columns = (ColumnChange(name, value_of(old), value_of(new)) for name, old, new in pairs if old != new)
        yield RecordChange(table, named, kind, tuple(columns))


def stored_rows(table: str, tables: Tables, database: sqlite3.Connection) -> tuple[tuple[str, ...], _Rows]:
    """The columns of a table's key, and its records as they are stored, by key. Lists are tuples here."""
    description = database.execute(f"PRAGMA table_info({table})").fetchall()
    names = [row[1] for row in description]
    key = tables.keys.get(table) or tuple(row[1] for row in description if row[5])
    elements = tables.lists.get(table)
    lists = stored_lists(database, elements) if elements else {}
    records: _Rows = {}
    for row in database.execute(f"SELECT * FROM {table}"):
        record = dict(zip(names, row, strict=True))
        number = record.get("id")
        named = tuple(record.pop(name) for name in key)
        if elements is not None and number is not None:
            record[elements.field] = lists.get(number)
        if "id" not in key:
            record.pop("id", None)
        records[named] = record
    return key, records
