"""Run stores from somebody who means harm: with other tables, types and sizes than rig writes.

Every case is a process of its own, in which rig answers or says in a line why it does not, within a minute
and 2 GiB of memory.
"""

import sqlite3
from collections.abc import Callable, Mapping
from contextlib import closing
from pathlib import Path
from random import Random

from benchmarks.attack import stores
from benchmarks.attack.campaign import Broken, apart, ended, folder, main

Harm = Callable[[sqlite3.Connection, Random], None]


def _set(table: str, column: str, value: object) -> Harm:
    """Every row of a table gets this value in a column."""

    def harm(store: sqlite3.Connection, random: Random) -> None:
        store.execute(f"UPDATE {table} SET {column} = ?", [value])

    return harm


def _sql(*statements: str) -> Harm:
    def harm(store: sqlite3.Connection, random: Random) -> None:
        for statement in statements:
            store.executescript(statement)

    return harm


def _wrong_type(store: sqlite3.Connection, random: Random) -> None:
    """Any value in any column of any table; what the table refuses is another case."""
    tables = [name for (name,) in store.execute("SELECT name FROM sqlite_master WHERE type = 'table'")]
    while True:
        table = random.choice(tables)
        columns = [row[1] for row in store.execute(f"PRAGMA table_info({table})")]
        column, value = random.choice(columns), random.choice(_VALUES)
        try:
            store.execute(f"UPDATE {table} SET {column} = ? WHERE rowid % 2", [value])
            return
        except sqlite3.Error:
            try:
                store.execute(f"UPDATE {table} SET {column} = ?", [value])
                return
            except sqlite3.Error:
                continue


_VALUES: tuple[object, ...] = (
    b"\x00\xff",
    2**63 - 1,
    -(2**63),
    1e308,
    float("inf"),
    -1,
    0.5,
    "",
    "text",
    "\x00",
    "../../x",
    "a/b",
    "NaN",
    "[" * 50_000,
    "[" * 900 + "]" * 900,
    "{}",
    "[]",
    "null",
    "[[]]",
    '{"a": {}}',
    "9" * 5_000,
    "x" * 3_000_000,
)


def _many_metrics(number: int) -> Harm:
    metric = (
        "json_object('name', 'm' || value, 'noun', 'n',"
        " 'numerator', 'a' || value, 'denominator', 'b' || value)"
    )
    series = f"WITH RECURSIVE n(value) AS (SELECT 1 UNION ALL SELECT value + 1 FROM n LIMIT {number})"
    return _sql(
        f"UPDATE runs SET declaration = json_set(declaration, '$.metrics',"
        f" (SELECT json_group_array({metric}) FROM ({series} SELECT value FROM n)))"
    )


_UNTIED = "PRAGMA foreign_keys = OFF"


def _as_view(table: str, rows: str) -> Harm:
    return _sql(
        _UNTIED,
        f"ALTER TABLE {table} RENAME TO hidden",
        f"CREATE VIEW {table} AS {rows}",
    )


_NUMBERS = "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n{}) SELECT i FROM n"
_ENDLESS = "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n) SELECT hidden.* FROM hidden, n"

_BLOB = "zeroblob(600000000)"

HARMS: Mapping[str, Harm] = {
    "wrong type": _wrong_type,
    "settings of brackets": _set("runs", "settings", "[" * 50_000),
    "declaration of brackets": _set("runs", "declaration", "[" * 50_000 + "]" * 50_000),
    "source of brackets": _set("sources", "json", "[" * 50_000 + "]" * 50_000),
    "view of a task of brackets": _set("task_views", "json", '{"turns":' * 20_000),
    "arguments of brackets": _set("predictions", "arguments", "[" * 50_000 + "]" * 50_000),
    "id with a slash": _sql(_UNTIED, "UPDATE runs SET id = 'a/b'", "UPDATE arms SET run = 'a/b'"),
    "id upwards": _sql(_UNTIED, "UPDATE runs SET id = '../x'", "UPDATE arms SET run = '../x'"),
    "id as a blob": _sql(_UNTIED, "UPDATE runs SET id = x'00ff'"),
    "counts as blobs": _set("counts", "value", b"\x01"),
    "counts without an end": _set("counts", "value", float("inf")),
    "repeats": _set("runs", "repeats", 2**63 - 1),
    "a billion repeats": _set("runs", "repeats", 10**9),
    "many metrics": _many_metrics(500),
    "very many metrics": _many_metrics(100_000),
    "huge prediction": _sql(f"UPDATE predictions SET raw = {_BLOB} WHERE id = 1"),
    "huge settings": _sql(f"UPDATE runs SET settings = {_BLOB}"),
    "huge source": _sql(f"UPDATE sources SET json = {_BLOB} WHERE rowid = (SELECT min(rowid) FROM sources)"),
    "runs as an endless view": _as_view("runs", _ENDLESS),
    "turns as an endless view": _as_view("turns", _ENDLESS),
    "arms as a view": _as_view("arms", "SELECT * FROM hidden"),
    "view of itself": _as_view("counts", "SELECT * FROM rates"),
    "summary without an end": _sql("DROP VIEW summary", f"CREATE VIEW summary AS {_NUMBERS.format('')}"),
    "trigger": _sql("CREATE TRIGGER t AFTER UPDATE ON runs BEGIN DELETE FROM predictions; END"),
    "trigger without an end": _sql(
        "CREATE TRIGGER t AFTER INSERT ON turns"
        f" BEGIN INSERT INTO sources SELECT i, i FROM ({_NUMBERS.format('')}); END"
    ),
    "generated column": _sql("ALTER TABLE runs ADD COLUMN more AS (hex(zeroblob(300000000)))"),
    "index of an expression": _sql("CREATE INDEX i ON turns (hex(zeroblob(1000 * id)))"),
    "no table of scores": _sql(_UNTIED, "DROP TABLE scores"),
    "another version": _sql("PRAGMA user_version = 7"),
    "turns as far as numbers go": _sql("UPDATE turns SET turn = turn + 1000000000000"),
    "many runs": _sql(
        _UNTIED,
        "INSERT INTO runs SELECT 'r' || i, name, created, finished, rig, settings, repeats, writer,"
        f" heartbeat, method, declaration FROM runs, ({_NUMBERS.format(' LIMIT 30000')})",
    ),
}
"""What is done to a sound store, by its name."""

VERBS = (
    *stores.VERBS,
    ("show", "latest", "--json"),
    ("show", "latest", "--by", "tool"),
    ("compare", "latest", "--json"),
    ("adjudicate", "latest", "--json"),
    ("export", "latest", "--format", "csv", "--rows", "summary"),
)


def harmed(place: Path, harm: Harm, random: Random, whole: bytes) -> Path:
    """A store with this harm."""
    store = place / "runs.sqlite"
    store.write_bytes(whole)
    with closing(sqlite3.connect(store)) as database:
        harm(database, random)
        database.commit()
    return store


def played(store: Path, verb: tuple[str, ...]) -> str:
    """Run a verb on a store, and say in a word how that ended."""
    place = store.parent
    names = {"REPORT": "report.html", "EXPORT": "export", "COPY": "copy.sqlite", "STORE": "runs.sqlite"}
    words = [str(place / names[word]) if word in names else word for word in verb]
    runs = place / "other.sqlite" if "STORE" in verb else store
    return ended(apart(*words, "--runs", runs, RIG_CACHE=place / "cache"))


def case(random: Random) -> str:
    """A store with one harm, and a verb."""
    harm, verb = random.choice([*HARMS, "wrong type", "wrong type", "wrong type"]), random.choice(VERBS)
    with folder() as place:
        store = harmed(place, HARMS[harm], random, stores.whole())
        try:
            return played(store, verb)
        except Broken as error:
            raise Broken(f"{harm}: {verb}: {error}") from error


if __name__ == "__main__":
    main("foreign", case, 300)
