"""How two worlds differ: record by record and column by column, or in their contents apart from ids."""

import json
import sqlite3
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from contextlib import closing
from dataclasses import dataclass
from typing import Any, Literal, NamedTuple, TypeAlias

from rig.core.calls import ByName, Json, JsonObject, StepPlace
from rig.core.databases import in_memory
from rig.world.schemas import equal
from rig.world.toolbox import Simulator
from rig.world.world import RECORDED_CALLS, SERVER_TABLES, Snapshot, Tables, decode, stored_lists, value_of

LIMIT = 50
"""The default limit on the records of a diff."""

_BOOKKEEPING = ("session", "id_generators", RECORDED_CALLS, *SERVER_TABLES)
"""Tables without a user's things: the clock, who is logged in, how many ids were drawn. They come last."""

_Rows: TypeAlias = dict[tuple[Any, ...], dict[str, Any]]


@dataclass(frozen=True, slots=True)
class ColumnChange:
    """A column of a record. `before` is None if the record was added, and `after` if it was removed."""

    name: str
    before: Json
    after: Json


@dataclass(frozen=True, slots=True)
class RecordChange:
    """A record that differs. `key` names it by column and value; `columns` are the other columns that differ.

    In a record that was added or removed, `columns` are all that are not null.
    """

    table: str
    key: tuple[tuple[str, Json], ...]
    kind: Literal["added", "changed", "removed"]
    columns: tuple[ColumnChange, ...]

    @property
    def is_bookkeeping(self) -> bool:
        """Whether the record is part of the simulator's own state and nothing of a user's."""
        return self.table in _BOOKKEEPING

    def as_json(self) -> JsonObject:
        """Return the change as a JSON object."""
        return {
            "table": self.table,
            "key": dict(self.key),
            "kind": self.kind,
            "columns": {column.name: [column.before, column.after] for column in self.columns},
        }


@dataclass(frozen=True, slots=True)
class WorldDiff(ByName):
    """The records that differ, table by table; `omitted` counts those beyond the limit."""

    changes: tuple[RecordChange, ...] = ()
    omitted: int = 0


def diff(simulator: Simulator, before: Snapshot, after: Snapshot, limit: int | None = LIMIT) -> WorldDiff:
    """Return how `after` differs from `before`, with at most `limit` records; with all if it is None."""
    tables = simulator.world.tables
    if before == after:
        return WorldDiff()
    with closing(open_snapshot(before)) as old, closing(open_snapshot(after)) as new:
        names = record_tables(new, tables)
        changes = [change for table in names for change in _changes(table, tables, old, new)]
    listed = changes[:limit]
    return WorldDiff(tuple(listed), len(changes) - len(listed))


def open_snapshot(snapshot: Snapshot) -> sqlite3.Connection:
    """Open the database of a world in memory. The caller has to close it."""
    connection = in_memory()
    connection.deserialize(snapshot.image)
    return connection


def record_tables(database: sqlite3.Connection, tables: Tables) -> list[str]:
    """Return the tables whose rows are records, rather than parts of other records."""
    parts = {elements.table for elements in tables.lists.values()}
    rows = database.execute("SELECT name FROM sqlite_schema WHERE type = 'table'").fetchall()
    names = [name for (name,) in rows if name not in parts and not name.startswith("sqlite_")]
    return sorted(names, key=lambda name: name in _BOOKKEEPING)


def _changes(
    table: str, tables: Tables, old: sqlite3.Connection, new: sqlite3.Connection
) -> Iterator[RecordChange]:
    # Most tables are as they were, which costs much less to see than to read their records.
    elements = tables.lists.get(table)
    if all(_is_same(name, old, new) for name in (table, *((elements.table,) if elements else ()))):
        return
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


def _is_same(table: str, old: sqlite3.Connection, new: sqlite3.Connection) -> bool:
    """Return whether a table has the same rows in the same order in two databases."""
    one, other = (database.execute(f"SELECT * FROM {table}").fetchall() for database in (old, new))
    return bool(one == other)


def stored_rows(table: str, tables: Tables, database: sqlite3.Connection) -> tuple[tuple[str, ...], _Rows]:
    """Return the key columns of a table, and its stored records by key. Lists are tuples here."""
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


_LEFT_OUT = ("id_generators", RECORDED_CALLS, *SERVER_TABLES)
"""Tables that contents leave out: drawn ids and given answers are not a user's things."""

_ANY = "(any)"
"""Stands for a value that a tool drew: it matters that there is one, but not which."""
_LONGEST = 120
"""The most characters of a value that are quoted."""


class TableRecord(NamedTuple):
    """One record: its table, and its fields that are not null, by name as JSON text."""

    table: str
    fields: tuple[tuple[str, str], ...]

    def told(self, others: Iterable["TableRecord"]) -> str:
        """Describe the record; a long text starts just before it differs from the like record in `others`."""
        like = (dict(other.fields) for other in others if other[0] == self[0] and other[1][:1] == self[1][:1])
        other = next(like, {}) if any(len(text) > _LONGEST for _, text in self.fields) else {}
        parts: list[str] = []
        for name, text in self.fields:
            if len(text) > _LONGEST:
                pairs = enumerate(zip(text, other.get(name, ""), strict=False))
                start = max(next((at for at, (a, b) in pairs if a != b), 0) - _LONGEST // 3, 0)
                left = text[start:]
                text = f"{'…' if start else ''}{left[:_LONGEST]}{'…' if len(left) > _LONGEST else ''}"
            parts += [f"{name} {text}"] if text != json.dumps(_ANY) else []
        return f"{self.table}: {', '.join(parts)}"


class Differences(NamedTuple):
    """The records that a world lacks, and those that it has beyond the expected ones."""

    missing: tuple[TableRecord, ...] = ()
    extra: tuple[TableRecord, ...] = ()

    def __bool__(self) -> bool:
        return bool(self.missing or self.extra)

    @property
    def lines(self) -> tuple[str, ...]:
        """The differences in words, one line for each."""
        lacking = [f"the world should have {record.told(self.extra)}" for record in self.missing]
        more = [f"the world should not have {record.told(self.missing)}" for record in self.extra]
        return (*lacking, *more)


def contents(snapshot: Snapshot, tables: Tables) -> Counter[TableRecord]:
    """Count the records of a world."""
    records: Counter[TableRecord] = Counter()
    with closing(open_snapshot(snapshot)) as database:
        for table in record_tables(database, tables):
            if table not in _LEFT_OUT:
                key, rows = stored_rows(table, tables, database)
                drawn = tables.drawn.get(table, ())
                for named, columns in rows.items():
                    whole = {**dict(zip(key, named, strict=True)), **columns}
                    values = ((name, value_of(value)) for name, value in whole.items())
                    there = ((name, value) for name, value in values if value is not None)
                    fields = ((name, _text(_ANY if name in drawn else value)) for name, value in there)
                    records[TableRecord(table, tuple(fields))] += 1
    return records


def compare(simulator: Simulator, expected: Snapshot, got: Snapshot) -> Differences:
    """Return how the contents of a world differ from the expected one's, ids aside."""
    tables = simulator.world.tables
    due, there = contents(expected, tables), contents(got, tables)
    return Differences(*(tuple(sorted(records.elements())) for records in (due - there, there - due)))


def differences(one: Json, other: Json, place: str = "") -> Iterator[tuple[str, Json, Json]]:
    """Yield where two JSON values differ: a JSON pointer and both values there, None for a missing one."""
    if isinstance(one, dict) and isinstance(other, dict):
        for name in dict.fromkeys([*one, *other]):
            step = str(name).replace("~", "~0").replace("/", "~1")
            yield from differences(one.get(name), other.get(name), f"{place}/{step}")
    elif isinstance(one, list) and isinstance(other, list) and len(one) == len(other):
        for number, (first, second) in enumerate(zip(one, other, strict=True)):
            yield from differences(first, second, f"{place}/{number}")
    elif not equal(one, other):
        yield place, one, other


def drawn(simulator: Simulator, snapshot: Snapshot) -> frozenset[str]:
    """Return the ids and tokens that a world holds."""
    tables = simulator.world.tables
    values: set[str] = set()
    with closing(open_snapshot(snapshot)) as database:
        for table, columns in tables.drawn.items():
            rows = database.execute(f"SELECT {', '.join(columns)} FROM {table}").fetchall()
            values.update(str(value_of(value)) for row in rows for value in row if value is not None)
    return frozenset(values)


def _text(value: Json) -> str:
    """Return a value as JSON text. A list is sorted, because the order of, say, guests does not matter."""
    if isinstance(value, list):
        value = sorted(value, key=json.dumps)
    return json.dumps(value, ensure_ascii=False, sort_keys=True)


@dataclass(frozen=True, slots=True)
class Effect:
    """What the call `step` of a turn changed. `differs` says that its response is not the recorded one."""

    turn: int
    step: int
    diff: WorldDiff
    differs: bool

    def as_json(self) -> JsonObject:
        """Return the diff, and whether the response differs."""
        return {"position": self.turn, "step": self.step, "differs": self.differs, **self.diff.as_json()}


@dataclass(frozen=True, slots=True)
class Effects:
    """The effects of a task's calls, by their place.

    `other_world` says that the world is not the one that the run was made in, so effects may differ, too.
    """

    by_call: Mapping[StepPlace, Effect]
    other_world: bool = False
