"""The tables of the run store, and the check that a file has these.

Views hold no data and are not part of the schema (rig.store.views). A store may come from anywhere, and
SQLite runs what is in a schema, so tables must be exactly these, without triggers.
"""

import re
from functools import cache
from typing import Any

from rig.core.databases import in_memory
from rig.core.sqlite_import import Database

APPLICATION = 0x72696730
"""The application id in the header of a store: `rig0` in ASCII."""
VERSION = 1
"""The version of the schema, SQLite's `user_version`."""

SCHEMA = """
CREATE TABLE runs (
    id TEXT PRIMARY KEY, name TEXT, created TEXT NOT NULL, finished TEXT, rig TEXT NOT NULL,
    settings TEXT NOT NULL, repeats INTEGER NOT NULL, writer TEXT, heartbeat TEXT, method TEXT NOT NULL,
    declaration TEXT NOT NULL
);
CREATE TABLE arms (
    id INTEGER PRIMARY KEY,
    run TEXT NOT NULL REFERENCES runs(id) ON DELETE CASCADE,
    position INTEGER NOT NULL, name TEXT NOT NULL, fingerprint TEXT, fingerprint_sha256 TEXT, failure TEXT,
    load_s REAL, store_s REAL NOT NULL DEFAULT 0, display_s REAL NOT NULL DEFAULT 0, peak_memory INTEGER,
    peak_device_memory INTEGER, energy_j REAL, decided TEXT, notes TEXT,
    UNIQUE (run, position), UNIQUE (run, name)
);
CREATE TABLE sources (
    sha256 TEXT PRIMARY KEY, json TEXT NOT NULL
);
CREATE TABLE task_views (
    source TEXT NOT NULL REFERENCES sources(sha256) ON DELETE CASCADE,
    method TEXT NOT NULL, json TEXT NOT NULL,
    PRIMARY KEY (source, method)
) WITHOUT ROWID;
CREATE TABLE conversations (
    id INTEGER PRIMARY KEY,
    run TEXT NOT NULL REFERENCES runs(id) ON DELETE CASCADE,
    position INTEGER NOT NULL, name TEXT NOT NULL, turns INTEGER NOT NULL, ground_truths INTEGER NOT NULL,
    source TEXT NOT NULL REFERENCES sources(sha256), suite TEXT NOT NULL, known_turns TEXT NOT NULL,
    UNIQUE (run, position), UNIQUE (run, name)
);
CREATE TABLE turns (
    id INTEGER PRIMARY KEY,
    arm INTEGER NOT NULL REFERENCES arms(id) ON DELETE CASCADE,
    conversation INTEGER NOT NULL REFERENCES conversations(id) ON DELETE CASCADE,
    repeat INTEGER NOT NULL, turn INTEGER NOT NULL, finished TEXT NOT NULL, error TEXT, wall_s REAL NOT NULL,
    tools_s REAL NOT NULL, scoring_s REAL NOT NULL, wanted INTEGER, cpu_s REAL,
    UNIQUE (arm, conversation, repeat, turn)
);
CREATE TABLE predictions (
    id INTEGER PRIMARY KEY,
    turn INTEGER NOT NULL REFERENCES turns(id) ON DELETE CASCADE,
    step INTEGER NOT NULL, kind TEXT NOT NULL CHECK (kind IN ('call', 'reply', 'error')), raw TEXT NOT NULL,
    tool TEXT, arguments TEXT, reply TEXT, error TEXT, error_detail TEXT NOT NULL,
    finish_reason TEXT NOT NULL, executed TEXT, response TEXT, exception TEXT, username TEXT, match INTEGER,
    bad_action INTEGER, ground_truth_turn INTEGER, ground_truth_call INTEGER, reason TEXT, differences TEXT,
    prompt_tokens INTEGER NOT NULL, cached_tokens INTEGER NOT NULL, completion_tokens INTEGER NOT NULL,
    forced_tokens INTEGER NOT NULL, prefill_s REAL NOT NULL, decode_s REAL NOT NULL, mask_s REAL NOT NULL,
    first_token_s REAL NOT NULL, token_ids TEXT NOT NULL, logprobs TEXT NOT NULL, salvage TEXT NOT NULL,
    token_chars TEXT NOT NULL, token_forced TEXT NOT NULL, role TEXT NOT NULL, parent INTEGER,
    reasoning TEXT NOT NULL, content TEXT NOT NULL, part INTEGER NOT NULL, reasoning_tokens INTEGER NOT NULL,
    reasoning_s REAL NOT NULL, form TEXT NOT NULL,
    UNIQUE (turn, step)
);
CREATE TABLE attempts (
    id INTEGER PRIMARY KEY,
    arm INTEGER NOT NULL REFERENCES arms(id) ON DELETE CASCADE,
    conversation INTEGER REFERENCES conversations(id) ON DELETE CASCADE,
    repeat INTEGER, turn INTEGER, error TEXT, detail TEXT NOT NULL, given_up TEXT NOT NULL, played TEXT
);
CREATE TABLE scores (
    id INTEGER PRIMARY KEY,
    arm INTEGER NOT NULL REFERENCES arms(id) ON DELETE CASCADE,
    conversation INTEGER NOT NULL REFERENCES conversations(id) ON DELETE CASCADE,
    repeat INTEGER NOT NULL, grader TEXT NOT NULL, grader_version TEXT NOT NULL, similarity TEXT NOT NULL,
    own INTEGER NOT NULL,
    UNIQUE (arm, conversation, repeat, grader, grader_version, similarity)
);
CREATE TABLE counts (
    score INTEGER NOT NULL REFERENCES scores(id) ON DELETE CASCADE,
    name TEXT NOT NULL, value NUMERIC NOT NULL,
    PRIMARY KEY (score, name)
) WITHOUT ROWID;
CREATE TABLE verdicts (
    score INTEGER NOT NULL REFERENCES scores(id) ON DELETE CASCADE,
    prediction INTEGER NOT NULL REFERENCES predictions(id) ON DELETE CASCADE,
    match INTEGER NOT NULL, bad_action INTEGER NOT NULL, ground_truth_turn INTEGER, ground_truth_call INTEGER,
    reason TEXT NOT NULL, differences TEXT NOT NULL,
    PRIMARY KEY (score, prediction)
) WITHOUT ROWID;
CREATE TABLE error_types (
    score INTEGER NOT NULL REFERENCES scores(id) ON DELETE CASCADE,
    turn INTEGER NOT NULL, error_type TEXT NOT NULL, errors INTEGER NOT NULL,
    PRIMARY KEY (score, turn, error_type)
) WITHOUT ROWID;
CREATE TABLE faults (
    id INTEGER PRIMARY KEY,
    score INTEGER NOT NULL REFERENCES scores(id) ON DELETE CASCADE,
    turn INTEGER NOT NULL, kind TEXT NOT NULL, text TEXT NOT NULL, step INTEGER, ground_truth_turn INTEGER,
    ground_truth_call INTEGER, tool TEXT NOT NULL, argument TEXT NOT NULL, expected TEXT NOT NULL,
    got TEXT NOT NULL
);
CREATE INDEX conversations_source ON conversations(source);
CREATE INDEX turns_conversation ON turns(conversation);
CREATE INDEX attempts_arm ON attempts(arm);
CREATE INDEX attempts_conversation ON attempts(conversation);
CREATE INDEX scores_conversation ON scores(conversation);
CREATE INDEX verdicts_prediction ON verdicts(prediction);
CREATE INDEX faults_score ON faults(score);
"""

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
