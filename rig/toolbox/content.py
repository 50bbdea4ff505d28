"""What a world holds, ignoring the ids that its tools drew: to tell whether two worlds ended the same."""

import json
from collections import Counter
from contextlib import closing
from typing import NamedTuple

from rig.calls import Json
from rig.toolbox.diff import open_snapshot, record_tables, stored_rows
from rig.toolbox.values import value_of
from rig.toolbox.world import RECORDED_CALLS, Snapshot, Tables

_LEFT_OUT = ("id_generators", RECORDED_CALLS)
"""How many ids were drawn, and which answers given, is nobody's thing."""

_ANY = "(any)"
"""What stands for a value that a tool drew: that there is one counts, and which one does not."""


class TableRecord(NamedTuple):
    """One record: its table, and its fields by name as JSON text, but for those that are null."""

    table: str
    fields: tuple[tuple[str, str], ...]

    def __str__(self) -> str:
        told = (f"{name} {text}" for name, text in self.fields if text != json.dumps(_ANY))
        return f"{self.table}: {', '.join(told)}"


class Differences(NamedTuple):
    """The records that a world lacks, and those that it has beyond what was expected."""

    missing: tuple[TableRecord, ...] = ()
    extra: tuple[TableRecord, ...] = ()

    def __bool__(self) -> bool:
        return bool(self.missing or self.extra)

    @property
    def lines(self) -> tuple[str, ...]:
        """In words, a line on each."""
        lacking = (f"the world should have {record}" for record in self.missing)
        return (*lacking, *(f"the world should not have {record}" for record in self.extra))


def contents(snapshot: Snapshot, tables: Tables) -> Counter[TableRecord]:
    """Every record of a world, and how many there are of it."""
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


def compare(expected: Snapshot, got: Snapshot, tables: Tables) -> Differences:
    """How a world differs from the expected one in what it holds."""
    due, there = contents(expected, tables), contents(got, tables)
    return Differences(*(tuple(sorted(records.elements())) for records in (due - there, there - due)))


def drawn_values(snapshot: Snapshot, tables: Tables) -> frozenset[str]:
    """The ids and tokens that a world holds."""
    drawn: set[str] = set()
    with closing(open_snapshot(snapshot)) as database:
        for table, columns in tables.drawn.items():
            rows = database.execute(f"SELECT {', '.join(columns)} FROM {table}").fetchall()
            drawn.update(str(value_of(value)) for row in rows for value in row if value is not None)
    return frozenset(drawn)


def _text(value: Json) -> str:
    """A value as JSON; lists are sets here, since nobody says in which order guests come."""
    if isinstance(value, list):
        value = sorted(value, key=json.dumps)
    return json.dumps(value, ensure_ascii=False, sort_keys=True)
