"""The tables of the run store and their numbered migrations.

Once released, a migration never changes, so it calls nothing that could: everything it needs is in this file.
Views hold no data and are not part of it (rig.store.views).
"""

import json
from pathlib import Path

from rig.budget import parse_json
from rig.databases import in_memory
from rig.paths import real
from rig.tables import Database, Migrations

MIGRATIONS = Migrations("rig.runs")


def _statements(name: str, script: str) -> None:
    """Register a migration that consists of SQL alone."""

    def migrate(db: Database) -> None:
        db.executescript(script)

    MIGRATIONS(name=name)(migrate)


# Runs, arms, conversations, turns, predictions and scores.
_statements(
    "m001_runs",
    """
CREATE TABLE runs (
    id TEXT PRIMARY KEY, name TEXT, created TEXT NOT NULL, finished TEXT, rig TEXT NOT NULL,
    settings TEXT NOT NULL, repeats INTEGER NOT NULL, writer TEXT, heartbeat TEXT
);
CREATE TABLE arms (
    id INTEGER PRIMARY KEY,
    run TEXT NOT NULL REFERENCES runs(id) ON DELETE CASCADE,
    position INTEGER NOT NULL, name TEXT NOT NULL, fingerprint TEXT, fingerprint_sha256 TEXT, failure TEXT,
    load_s REAL, store_s REAL NOT NULL DEFAULT 0,
    UNIQUE (run, position), UNIQUE (run, name)
);
CREATE TABLE sources (
    sha256 TEXT PRIMARY KEY, json TEXT NOT NULL
);
CREATE TABLE conversations (
    id INTEGER PRIMARY KEY,
    run TEXT NOT NULL REFERENCES runs(id) ON DELETE CASCADE,
    position INTEGER NOT NULL, name TEXT NOT NULL, turns INTEGER NOT NULL, ground_truths INTEGER NOT NULL,
    source TEXT NOT NULL REFERENCES sources(sha256),
    UNIQUE (run, position), UNIQUE (run, name)
);
CREATE TABLE turns (
    id INTEGER PRIMARY KEY,
    arm INTEGER NOT NULL REFERENCES arms(id) ON DELETE CASCADE,
    conversation INTEGER NOT NULL REFERENCES conversations(id) ON DELETE CASCADE,
    repeat INTEGER NOT NULL, turn INTEGER NOT NULL, finished TEXT NOT NULL, error TEXT, wall_s REAL NOT NULL,
    tools_s REAL NOT NULL, scoring_s REAL NOT NULL,
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
    first_token_s REAL NOT NULL, token_ids TEXT NOT NULL, logprobs TEXT NOT NULL,
    UNIQUE (turn, step)
);
CREATE TABLE scores (
    id INTEGER PRIMARY KEY,
    arm INTEGER NOT NULL REFERENCES arms(id) ON DELETE CASCADE,
    conversation INTEGER NOT NULL REFERENCES conversations(id) ON DELETE CASCADE,
    repeat INTEGER NOT NULL, grader TEXT NOT NULL, grader_version TEXT NOT NULL, similarity TEXT NOT NULL,
    successes INTEGER NOT NULL, soft_successes REAL NOT NULL, predictions INTEGER NOT NULL,
    ground_truths INTEGER NOT NULL, matches INTEGER NOT NULL, actions INTEGER NOT NULL,
    valid_actions INTEGER NOT NULL, bad_actions INTEGER NOT NULL,
    UNIQUE (arm, conversation, repeat, grader, grader_version, similarity)
);
CREATE INDEX conversations_source ON conversations(source);
CREATE INDEX turns_conversation ON turns(conversation);
CREATE INDEX scores_conversation ON scores(conversation);
""",
)

# What went wrong by each score, and the verdicts of scores that were made after the run.
_statements(
    "m002_scoring",
    """
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
CREATE INDEX verdicts_prediction ON verdicts(prediction);
CREATE INDEX faults_score ON faults(score);
""",
)


@MIGRATIONS()
def m003_suites(db: Database) -> None:
    """Add each conversation's suite. For earlier runs, it is inferred from their settings."""
    db.execute("ALTER TABLE conversations ADD COLUMN suite TEXT NOT NULL DEFAULT ''")
    for run in list(db.query("SELECT id, settings FROM runs")):
        settings = parse_json(run["settings"])
        if settings.get("conversations"):
            place = real(Path(settings["conversations"]))
            name = place.name.encode("utf-8", "backslashreplace").decode()
            suite = "hard" if name == "tooltalk" else name
        else:
            suite = settings.get("suite", "")
        # When the column was added, only the easy suite's names ended like this.
        by_name = "CASE WHEN name LIKE '%-easy' THEN 'easy' ELSE 'hard' END"
        value = by_name if suite == "all" and not settings.get("conversations") else ":suite"
        db.execute(
            f"UPDATE conversations SET suite = {value} WHERE run = :run", {"suite": suite, "run": run["id"]}
        )


# What an arm cost besides time: bytes, joules, and seconds of showing it. Unknown for earlier runs.
_statements(
    "m004_costs",
    """
ALTER TABLE arms ADD COLUMN display_s REAL NOT NULL DEFAULT 0;
ALTER TABLE arms ADD COLUMN peak_memory INTEGER;
ALTER TABLE arms ADD COLUMN peak_device_memory INTEGER;
ALTER TABLE arms ADD COLUMN energy_j REAL;
""",
)
# Only views, which hold no data and are recreated: rig.store.views.
_statements("m005_views", "")
# How answers were found that were written without a grammar. Before, all were written with one.
_statements("m006_salvage", "ALTER TABLE predictions ADD COLUMN salvage TEXT NOT NULL DEFAULT ''")
# Which characters of a prediction each token stands for, and which the grammar forced; empty before.
_statements(
    "m007_tokens",
    """
ALTER TABLE predictions ADD COLUMN token_chars TEXT NOT NULL DEFAULT '[]';
ALTER TABLE predictions ADD COLUMN token_forced TEXT NOT NULL DEFAULT '[]';
""",
)

_DECLARATION = """
{"method": "tooltalk", "success": "successes",
 "metrics": [
  {"name": "success_rate", "noun": "success", "numerator": "successes", "denominator": "tasks",
   "better": "higher", "format": "percent", "label": "", "place": "lines"},
  {"name": "soft_success", "noun": "soft success", "numerator": "soft_successes", "denominator": "tasks",
   "better": "higher", "format": "percent", "label": "", "place": "tables"},
  {"name": "recall", "noun": "recall", "numerator": "matches", "denominator": "ground_truths",
   "better": "higher", "format": "percent", "label": "", "place": "lines"},
  {"name": "precision", "noun": "precision", "numerator": "matches", "denominator": "predictions",
   "better": "higher", "format": "percent", "label": "", "place": "meters"},
  {"name": "incorrect_action_rate", "noun": "incorrect action rate", "numerator": "bad_actions",
   "denominator": "actions", "better": "lower", "format": "percent", "label": "incorrect actions",
   "place": "lines"},
  {"name": "action_precision", "noun": "action precision", "numerator": "valid_actions",
   "denominator": "actions", "better": "higher", "format": "percent", "label": "", "place": "json"}],
 "counts": [
  {"name": "predictions", "noun": "calls predicted"},
  {"name": "ground_truths", "noun": "calls wanted"}],
 "outcome": [
  {"name": "matches", "noun": "calls matched", "whole": "ground_truths", "short": "calls",
   "better": "higher"},
  {"name": "bad_actions", "noun": "incorrect actions", "whole": "", "short": "incorrect",
   "better": "lower"}]}
"""
"""What all runs counted before methods declared it."""


@MIGRATIONS()
def m008_counts(db: Database) -> None:
    """Store counts as rows, by the names that a run's method declares. Earlier runs were ToolTalk's."""
    db.execute("ALTER TABLE runs ADD COLUMN method TEXT NOT NULL DEFAULT 'tooltalk'")
    db.execute("ALTER TABLE runs ADD COLUMN declaration TEXT NOT NULL DEFAULT '{}'")
    db.execute("UPDATE runs SET declaration = ?", [json.dumps(parse_json(_DECLARATION))])
    db.execute("""
CREATE TABLE counts (
    score INTEGER NOT NULL REFERENCES scores(id) ON DELETE CASCADE,
    name TEXT NOT NULL, value NUMERIC NOT NULL,
    PRIMARY KEY (score, name)
) WITHOUT ROWID
""")
    db.execute("INSERT INTO counts SELECT id, 'tasks', 1 FROM scores")
    # A column that a view reads cannot be dropped, and a store may have views of its owner's.
    views = list(db.query("SELECT name, sql FROM sqlite_master WHERE type = 'view'"))
    for view in views:
        db.execute(f'DROP VIEW "{view["name"]}"')
    counted = "successes soft_successes predictions ground_truths matches actions valid_actions bad_actions"
    for name in counted.split():
        db.execute(f"INSERT INTO counts SELECT id, '{name}', {name} FROM scores")
        db.execute(f"ALTER TABLE scores DROP COLUMN {name}")
    for view in views:
        db.execute(view["sql"])


# Which role made a step, and which step it follows. Before, only the assistant spoke, without branches.
_statements(
    "m009_roles",
    """
ALTER TABLE predictions ADD COLUMN role TEXT NOT NULL DEFAULT 'assistant';
ALTER TABLE predictions ADD COLUMN parent INTEGER;
""",
)
# Which score the run stands by, how many calls were due in a turn, and what types of error are called.
# Before, a run stood by the score made first, and only ToolTalk's tasks said what was due in which turn.
_statements(
    "m010_own_scores",
    """
ALTER TABLE scores ADD COLUMN own INTEGER NOT NULL DEFAULT 0;
UPDATE scores SET own = 1 WHERE id IN (SELECT min(id) FROM scores GROUP BY arm, conversation, repeat);
ALTER TABLE turns ADD COLUMN wanted INTEGER;
UPDATE turns SET wanted = (
    SELECT coalesce(json_array_length(sources.json, '$.conversation[' || turns.turn || '].apis'), 0)
    FROM conversations JOIN sources ON sources.sha256 = conversations.source
    WHERE conversations.id = turns.conversation
)
WHERE arm IN (SELECT arms.id FROM arms JOIN runs ON runs.id = arms.run WHERE runs.method = 'tooltalk');
UPDATE runs SET declaration = json_set(declaration, '$.error_types', 'errors, ToolTalk''s types')
WHERE method = 'tooltalk';
""",
)
# Which turns of a conversation are the assistant's, and what CPU time a turn took: unknown before.
_statements(
    "m011_turn_numbers",
    """
ALTER TABLE conversations ADD COLUMN known_turns TEXT NOT NULL DEFAULT '[]';
ALTER TABLE turns ADD COLUMN cpu_s REAL;
UPDATE conversations SET known_turns = (
    SELECT json_group_array(entry.key)
    FROM sources JOIN json_each(sources.json, '$.conversation') AS entry
    WHERE sources.sha256 = conversations.source AND json_extract(entry.value, '$.role') = 'assistant'
)
WHERE run IN (SELECT id FROM runs WHERE method = 'tooltalk');
""",
)
# The reasoning before an answer, the text beside a call, and which call of its message a step is.
_statements(
    "m012_messages",
    """
ALTER TABLE predictions ADD COLUMN reasoning TEXT NOT NULL DEFAULT '';
ALTER TABLE predictions ADD COLUMN content TEXT NOT NULL DEFAULT '';
ALTER TABLE predictions ADD COLUMN part INTEGER NOT NULL DEFAULT 0;
ALTER TABLE predictions ADD COLUMN reasoning_tokens INTEGER NOT NULL DEFAULT 0;
ALTER TABLE predictions ADD COLUMN reasoning_s REAL NOT NULL DEFAULT 0;
""",
)
# What failed by the machine and was tried again.
_statements(
    "m013_attempts",
    """
CREATE TABLE attempts (
    id INTEGER PRIMARY KEY,
    arm INTEGER NOT NULL REFERENCES arms(id) ON DELETE CASCADE,
    conversation INTEGER REFERENCES conversations(id) ON DELETE CASCADE,
    repeat INTEGER, turn INTEGER, error TEXT, detail TEXT NOT NULL, given_up TEXT NOT NULL, played TEXT
);
CREATE INDEX attempts_arm ON attempts(arm);
CREATE INDEX attempts_conversation ON attempts(conversation);
""",
)
# What a run until a verdict found of an arm, in words. No earlier run looked before its end.
_statements("m014_decided", "ALTER TABLE arms ADD COLUMN decided TEXT")
# How many tokens were drafted, and how many of those the model chose itself. Before, none were.
_statements(
    "m015_drafts",
    """
ALTER TABLE predictions ADD COLUMN drafted_tokens INTEGER NOT NULL DEFAULT 0;
ALTER TABLE predictions ADD COLUMN accepted_tokens INTEGER NOT NULL DEFAULT 0;
""",
)
# What a reader sees of each task. Of earlier runs, their method makes it whenever it is asked for.
_statements(
    "m016_task_views",
    """
CREATE TABLE task_views (
    source TEXT NOT NULL REFERENCES sources(sha256) ON DELETE CASCADE,
    method TEXT NOT NULL, json TEXT NOT NULL,
    PRIMARY KEY (source, method)
) WITHOUT ROWID
""",
)

# Why a served arm answered otherwise than its file, as JSON. No earlier run had served arms.
_statements("m017_attribution", "ALTER TABLE arms ADD COLUMN attribution TEXT")
# In which form a call was written. Earlier runs did not look for calls in other forms.
_statements("m018_forms", "ALTER TABLE predictions ADD COLUMN form TEXT NOT NULL DEFAULT ''")

with Database(in_memory(), execute_plugins=False) as _empty:
    KNOWN = frozenset(migration.name for migration in MIGRATIONS.pending(_empty))
"""The names of all migrations of this rig."""
