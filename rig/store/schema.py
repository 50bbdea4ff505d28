"""The tables of the run store, and the check that a file has these.

Views hold no data and are not part of the schema (rig.store.views). A store may come from anywhere, and
SQLite runs what is in a schema, so tables must be exactly these, without triggers.
"""

import re
from functools import cache
from pathlib import Path
from typing import Any

from rig.core.databases import in_memory
from rig.core.sqlite_import import Database

APPLICATION = 0x72696730
"""The application id in the header of a store: `rig0` in ASCII."""
VERSION = 1
"""The version of the schema, SQLite's `user_version`."""

SCHEMA = Path(__file__).with_name("schema.sql").read_text(encoding="utf-8")

STATEMENTS = (
    *SCHEMA.strip().split(";\n"),
    f"PRAGMA application_id = {APPLICATION}",
    f"PRAGMA user_version = {VERSION}",
)
"""What makes an empty database a store: one by one, so that all of it is one transaction."""

_PLAIN_INDEX = re.compile(r"create index [^()]+\([^()]+\)", re.IGNORECASE)
"""An index that computes nothing, which somebody may have added to be faster."""


def fault_of(database: Database) -> str | None:
    """Return how the tables of a store differ from those that rig makes, in words; None if they do not."""
    tables, indexes = _expected()
    sqls = {name: sql for type_, name, _, sql in _master(database) if type_ == "table"}
    for type_, name, table, sql in _master(database):
        is_plain = type_ == "index" and (sql is None or _PLAIN_INDEX.fullmatch(sql.strip()))
        if type_ != "table" and table in tables and not is_plain and name not in indexes:
            return f"another program has added the {type_} {str(name)[:40]!r} to {table}"
    changed = (name for name, sql in tables.items() if _letters(sqls.get(name, "")) != sql)
    return next((f"the table {name} is not as rig makes it" for name in changed), None)


@cache
def _expected() -> tuple[dict[str, str], set[str]]:
    """Return the text of every table, and the names of the indexes."""
    with Database(in_memory(), execute_plugins=False) as fresh:
        fresh.executescript(SCHEMA)
        rows = _master(fresh)
    tables = {name: _letters(sql) for type_, name, _, sql in rows if type_ == "table"}
    return tables, {name for type_, name, *_ in rows if type_ == "index"}


def _master(database: Database) -> list[tuple[Any, ...]]:
    query = "SELECT type, name, tbl_name, sql FROM sqlite_master WHERE type <> 'view'"
    return list(database.execute(query).fetchall())


def _letters(sql: str) -> str:
    """Return a statement without white space and quotes, which vary between versions of SQLite."""
    return re.sub(r"[\s\"`\[\]]", "", sql).lower()
