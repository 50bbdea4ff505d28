"""Check whether a file is a run store as rig makes them, before anything else in it is read.

A store may come from anywhere, and SQLite runs what is in a schema. So its tables must be exactly rig's,
without triggers, and every value must have a type and size that rig writes. Foreign views are never read. An
inspected file is remembered in the cache, by its size and time in the file system, until another program
changes it. So your own stores are read no slower.
"""

import re
import sqlite3
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, suppress
from functools import cache
from itertools import chain
from pathlib import Path

from rig import files
from rig.databases import LARGEST_VALUE
from rig.paths import real
from rig.store.schema import MIGRATIONS
from rig.tables import Database

MOST_CELLS = 5_000_000
"""The most conversations times arms times repeats of a run."""

_LONG = 1 << 22
_SHORT = 4_000
"""`_LONG` is the most characters of a settings column, this of a name."""

_OF_LENGTH = {
    **dict.fromkeys(("runs.id", "runs.created", "runs.finished", "runs.heartbeat"), 40),
    **dict.fromkeys(("runs.settings", "runs.declaration", "arms.fingerprint"), _LONG),
    "conversations.known_turns": _LONG,
    **dict.fromkeys(("sources.json", "task_views.json"), LARGEST_VALUE),
}
"""The most characters of texts in the small tables, if not `_SHORT`."""

_LARGE = ("turns", "predictions", "verdicts", "attempts", "faults")
"""Tables with texts from models, which only `LARGEST_VALUE` limits."""

_OBJECT = "CASE WHEN json_valid({0}) THEN json_type({0}) = 'object' END"

_CONDITIONS = {
    "runs.id": "id <> '' AND id NOT GLOB '*[^0-9A-Za-z_-]*'",
    "runs.repeats": "repeats BETWEEN 1 AND 1000000",
    "runs.settings": _OBJECT.format("settings"),
    "runs.declaration": f"""CASE WHEN {_OBJECT.format("declaration")} THEN
        coalesce(json_array_length(declaration, '$.metrics'), 0) <= 200
        AND coalesce(json_array_length(declaration, '$.counts'), 0) <= 200
        AND coalesce(json_array_length(declaration, '$.outcome'), 0) <= 200 END""",
    "runs.writer": f"writer IS NULL OR {_OBJECT.format('writer')}",
    "arms.fingerprint": f"fingerprint IS NULL OR {_OBJECT.format('fingerprint')}",
    "conversations.known_turns": """CASE WHEN json_valid(known_turns) THEN
        json_type(known_turns) = 'array' AND json_array_length(known_turns) <= 10000 END""",
    "turns.turn": "turn BETWEEN 0 AND 1000000",
    "turns.repeat": "repeat BETWEEN 0 AND 1000000",
    "scores.repeat": "repeat BETWEEN 0 AND 1000000",
}
"""Further conditions on a column, in SQL."""

_TYPES: Mapping[str, str] = {
    "TEXT": "typeof({0}) = 'text'",
    "INTEGER": f"typeof({{0}}) = 'integer' AND {{0}} BETWEEN {-(2**53)} AND {2**53}",
    "REAL": "typeof({0}) IN ('real', 'integer') AND {0} BETWEEN -1e15 AND 1e15",
    "NUMERIC": "typeof({0}) IN ('real', 'integer') AND {0} BETWEEN -1e300 AND 1e300",
}

_TOO_MANY: Mapping[str, str] = {
    "SELECT count(*) > 20000 FROM runs": "more runs than rig reads",
    "SELECT count(*) > 200000 FROM arms": "more arms than rig reads",
    f"""SELECT EXISTS (
        SELECT 1 FROM runs WHERE repeats * (SELECT count(*) FROM arms WHERE run = runs.id)
            * (SELECT count(*) FROM conversations WHERE run = runs.id) > {MOST_CELLS}
    )""": "a run of more conversations, arms and repeats than rig reads",
}

_PLAIN_INDEX = re.compile(r"create index [^()]+\([^()]+\)", re.IGNORECASE)

_OPERATIONS = 1_000_000
"""The steps of SQLite's virtual machine between two checks of a statement's deadline."""
_LEAST_S, _S_PER_BYTE = 15.0, 1e-7
"""The seconds of computing that an inspection may take: at least, and for each byte of the store."""


def fault_of(database: Database, name: str = "") -> str | None:
    """Return how a store differs from what this rig or an older one makes, in words; None if it is sound.

    While it is read, progress is told under its `name`. Raises sqlite3.Error for what cannot be read, and if
    reading takes far more computing than the size explains.
    """
    from rig.progress import tell

    expected = _schema_after(tuple(migration.name for migration in MIGRATIONS.applied(database)))
    if expected is None:
        return "it is of no version of rig"
    done, parts = 0, len(expected.tables) + len(_TOO_MANY) + 1
    with limited(database, lambda: tell(name, "inspecting part", done, parts)):
        faults = chain(
            [_fault_of_schema(database, expected)],
            (_fault_of_rows(database, table, expected) for table in expected.tables),
            (fault if database.execute(query).fetchone()[0] else None for query, fault in _TOO_MANY.items()),
        )
        for done, fault in enumerate(faults, 1):  # noqa: B007 - the progress reads it
            if fault:
                return fault
    tell(name, "inspecting part", parts, parts)
    return None


@contextmanager
def limited(database: Database, watch: Callable[[], object] = lambda: None) -> Iterator[None]:
    """A context that ends, by sqlite3.OperationalError, statements that take too much computing for the size.

    What a busy machine or a slow disk takes does not count. `watch` is called now and then.
    """
    pages, size = (database.execute(f"PRAGMA {name}").fetchone()[0] for name in ("page_count", "page_size"))
    # A sound store takes about 14 s for a GB.
    deadline = time.thread_time() + _LEAST_S + pages * size * _S_PER_BYTE

    def is_over() -> bool:
        watch()
        return bool(time.thread_time() > deadline)

    database.conn.set_progress_handler(is_over, _OPERATIONS)
    try:
        yield
    finally:
        database.conn.set_progress_handler(None, 0)


class _Schema:
    """The schema of rig after some migrations: the text of every table, and the names of the indexes."""

    def __init__(self, database: Database) -> None:
        rows = database.execute("SELECT type, name, sql FROM sqlite_master").fetchall()
        self.tables = {name: _letters(sql) for type_, name, sql in rows if type_ == "table"}
        self.indexes = {name for type_, name, _ in rows if type_ == "index"}
        self.columns = {
            table: database.execute(
                f"SELECT name, type, \"notnull\", pk FROM pragma_table_info('{table}')"
            ).fetchall()
            for table in self.tables
        }


@cache
def _schema_after(applied: tuple[str, ...]) -> _Schema | None:
    """Return the schema that these migrations produce; None if no store can have just these."""
    from rig.databases import in_memory

    with Database(in_memory(), execute_plugins=False) as fresh:
        try:
            for migration in MIGRATIONS.pending(fresh):
                if migration.name in applied:
                    migration.fn(fresh)
        except sqlite3.Error:
            return None
        return _Schema(fresh)


def _letters(sql: str) -> str:
    """Return a statement without white space and quotes, which vary between versions of SQLite."""
    return re.sub(r"[\s\"`\[\]]", "", sql).lower()


def _fault_of_schema(database: Database, expected: _Schema) -> str | None:
    tables = {}
    rows = database.execute(
        "SELECT type, name, tbl_name, sql FROM sqlite_master WHERE type <> 'view'"
    ).fetchall()
    for type_, name, table, sql in rows:
        if type_ == "table":
            tables[name] = _letters(sql)
        elif table in expected.tables:
            is_plain = type_ == "index" and (sql is None or _PLAIN_INDEX.fullmatch(sql.strip()))
            if not is_plain and name not in expected.indexes:
                return f"another program has added the {type_} {str(name)[:40]!r} to {table}"
    for table, sql in expected.tables.items():
        if tables.get(table) != sql:
            return f"the table {table} is not as rig makes it"
    return None


def _fault_of_rows(database: Database, table: str, expected: _Schema) -> str | None:
    """Return which column of a table holds what rig does not write there, in words; None if none does."""
    types, conditions = [], []
    for name, type_, is_required, key in expected.columns[table]:
        holds = _TYPES[type_].format(f'"{name}"')
        if type_ == "TEXT" and table not in _LARGE:
            holds += f' AND length("{name}") <= {_OF_LENGTH.get(f"{table}.{name}", _SHORT)}'
        types.append((name, holds if is_required or key else f'"{name}" IS NULL OR ({holds})'))
        if condition := _CONDITIONS.get(f"{table}.{name}"):
            conditions.append((name, condition))
    # Types come first, as the other conditions are about values of the right type.
    tests = (*types, *conditions)
    cases = " ".join(f"WHEN NOT coalesce({holds}, 0) THEN '{name}'" for name, holds in tests)
    row = database.execute(
        f'SELECT fault FROM (SELECT CASE {cases} END AS fault FROM "{table}") WHERE fault IS NOT NULL LIMIT 1'
    ).fetchone()
    return None if row is None else f"the column {row[0]} of {table} holds what rig does not write there"


def is_remembered(path: Path) -> bool:
    """Return whether a store was inspected and has not changed since rig last left it."""
    with suppress(OSError, ValueError):
        return bool(files.remembered(_FILE).get(str(real(path))) == _signature(path))
    return False


def remember(path: Path) -> None:
    """Remember that a store was inspected, or written by rig after that."""
    # Where nothing can be remembered, it is inspected again.
    with suppress(OSError, ValueError):
        stores = files.remembered(_FILE)
        name, signature = str(real(path)), _signature(path)
        if stores.get(name) != signature:
            stores.pop(name, None)
            files.remember(_FILE, {**dict(list(stores.items())[-_KEPT:]), name: signature})


_FILE = "inspected-stores.json"
_KEPT = 200


def _signature(path: Path) -> list[int]:
    """Return numbers from the file system that change whenever a store or its log does."""
    from rig.databases import log_of

    log = log_of(path)
    stats = [path.stat(), *([log.stat()] if log.exists() and log.stat().st_size else [])]
    return [number for stat in stats for number in (stat.st_dev, stat.st_ino, stat.st_size, stat.st_mtime_ns)]
