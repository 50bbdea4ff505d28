"""The tables of the run store and their numbered migrations. A migration, once released, never changes."""

import json
from pathlib import Path

from sqlite_utils import Database, Migrations

from rig.conversations import suite_of
from rig.store.views import VIEWS

MIGRATIONS = Migrations("rig.runs")

_TABLES = """
CREATE TABLE runs (
    id TEXT PRIMARY KEY,
    name TEXT,
    created TEXT NOT NULL,
    finished TEXT,
    rig TEXT NOT NULL,
    settings TEXT NOT NULL,
    repeats INTEGER NOT NULL,
    writer TEXT,
    heartbeat TEXT
);
CREATE TABLE arms (
    id INTEGER PRIMARY KEY,
    run TEXT NOT NULL REFERENCES runs(id) ON DELETE CASCADE,
    position INTEGER NOT NULL,
    name TEXT NOT NULL,
    fingerprint TEXT,
    fingerprint_sha256 TEXT,
    failure TEXT,
    load_s REAL,
    store_s REAL NOT NULL DEFAULT 0,
    UNIQUE (run, position),
    UNIQUE (run, name)
);
CREATE TABLE sources (
    sha256 TEXT PRIMARY KEY,
    json TEXT NOT NULL
);
CREATE TABLE conversations (
    id INTEGER PRIMARY KEY,
    run TEXT NOT NULL REFERENCES runs(id) ON DELETE CASCADE,
    position INTEGER NOT NULL,
    name TEXT NOT NULL,
    turns INTEGER NOT NULL,
    ground_truths INTEGER NOT NULL,
    source TEXT NOT NULL REFERENCES sources(sha256),
    UNIQUE (run, position),
    UNIQUE (run, name)
);
CREATE TABLE turns (
    id INTEGER PRIMARY KEY,
    arm INTEGER NOT NULL REFERENCES arms(id) ON DELETE CASCADE,
    conversation INTEGER NOT NULL REFERENCES conversations(id) ON DELETE CASCADE,
    repeat INTEGER NOT NULL,
    turn INTEGER NOT NULL,
    finished TEXT NOT NULL,
    error TEXT,
    wall_s REAL NOT NULL,
    tools_s REAL NOT NULL,
    scoring_s REAL NOT NULL,
    UNIQUE (arm, conversation, repeat, turn)
);
CREATE TABLE predictions (
    id INTEGER PRIMARY KEY,
    turn INTEGER NOT NULL REFERENCES turns(id) ON DELETE CASCADE,
    step INTEGER NOT NULL,
    kind TEXT NOT NULL CHECK (kind IN ('call', 'reply', 'error')),
    raw TEXT NOT NULL,
    tool TEXT,
    arguments TEXT,
    reply TEXT,
    error TEXT,
    error_detail TEXT NOT NULL,
    finish_reason TEXT NOT NULL,
    executed TEXT,
    response TEXT,
    exception TEXT,
    username TEXT,
    match INTEGER,
    bad_action INTEGER,
    ground_truth_turn INTEGER,
    ground_truth_call INTEGER,
    reason TEXT,
    differences TEXT,
    prompt_tokens INTEGER NOT NULL,
    cached_tokens INTEGER NOT NULL,
    completion_tokens INTEGER NOT NULL,
    forced_tokens INTEGER NOT NULL,
    prefill_s REAL NOT NULL,
    decode_s REAL NOT NULL,
    mask_s REAL NOT NULL,
    first_token_s REAL NOT NULL,
    token_ids TEXT NOT NULL,
    logprobs TEXT NOT NULL,
    UNIQUE (turn, step)
);
CREATE TABLE scores (
    id INTEGER PRIMARY KEY,
    arm INTEGER NOT NULL REFERENCES arms(id) ON DELETE CASCADE,
    conversation INTEGER NOT NULL REFERENCES conversations(id) ON DELETE CASCADE,
    repeat INTEGER NOT NULL,
    grader TEXT NOT NULL,
    grader_version TEXT NOT NULL,
    similarity TEXT NOT NULL,
    successes INTEGER NOT NULL,
    soft_successes REAL NOT NULL,
    predictions INTEGER NOT NULL,
    ground_truths INTEGER NOT NULL,
    matches INTEGER NOT NULL,
    actions INTEGER NOT NULL,
    valid_actions INTEGER NOT NULL,
    bad_actions INTEGER NOT NULL,
    UNIQUE (arm, conversation, repeat, grader, grader_version, similarity)
);
CREATE INDEX conversations_source ON conversations(source);
CREATE INDEX turns_conversation ON turns(conversation);
CREATE INDEX scores_conversation ON scores(conversation);
"""

_VIEWS = """
CREATE VIEW errors AS
SELECT runs.id AS run, arms.name AS arm, predictions.error, count(*) AS predictions
FROM predictions
JOIN turns ON turns.id = predictions.turn
JOIN arms ON arms.id = turns.arm
JOIN runs ON runs.id = arms.run
WHERE predictions.error IS NOT NULL
GROUP BY arms.id, predictions.error;

CREATE VIEW calls AS
SELECT runs.id AS run, arms.name AS arm, conversations.name AS conversation, turns.repeat, turns.turn,
    predictions.step, predictions.tool, predictions.arguments, predictions.response, predictions.exception,
    predictions.match, predictions.bad_action, predictions.reason
FROM predictions
JOIN turns ON turns.id = predictions.turn
JOIN arms ON arms.id = turns.arm
JOIN runs ON runs.id = arms.run
JOIN conversations ON conversations.id = turns.conversation
WHERE predictions.kind = 'call';

CREATE VIEW summary AS
WITH score AS (
    SELECT arm, grader, grader_version, similarity, count(*) AS conversations,
        sum(successes) AS successes, sum(soft_successes) AS soft_successes,
        sum(predictions) AS predictions, sum(ground_truths) AS ground_truths, sum(matches) AS matches,
        sum(actions) AS actions, sum(valid_actions) AS valid_actions, sum(bad_actions) AS bad_actions
    FROM scores GROUP BY arm, grader, grader_version, similarity
),
work AS (
    SELECT turns.arm, count(*) AS steps, sum(predictions.error IS NOT NULL) AS errors,
        sum(prompt_tokens) AS prompt_tokens, sum(cached_tokens) AS cached_tokens,
        sum(completion_tokens) AS completion_tokens, sum(forced_tokens) AS forced_tokens,
        sum(prefill_s) AS prefill_s, sum(decode_s) AS decode_s
    FROM predictions JOIN turns ON turns.id = predictions.turn GROUP BY turns.arm
),
clock AS (
    SELECT arm, count(*) AS turns, sum(wall_s) AS wall_s FROM turns GROUP BY arm
)
SELECT runs.id AS run, runs.name AS name, arms.name AS arm, runs.created,
    coalesce(score.conversations, 0) AS conversations, coalesce(clock.turns, 0) AS turns,
    1.0 * score.successes / score.conversations AS success_rate,
    1.0 * score.matches / nullif(score.ground_truths, 0) AS recall,
    1.0 * score.matches / nullif(score.predictions, 0) AS "precision",
    1.0 * score.bad_actions / nullif(score.actions, 0) AS incorrect_action_rate,
    1.0 * score.valid_actions / nullif(score.actions, 0) AS action_precision,
    score.soft_successes / score.conversations AS soft_success,
    score.predictions, score.ground_truths, score.matches, score.actions, score.bad_actions,
    coalesce(work.errors, 0) AS errors, coalesce(work.steps, 0) AS steps,
    work.prompt_tokens, work.completion_tokens,
    1.0 * work.cached_tokens / nullif(work.prompt_tokens, 0) AS cached_share,
    1.0 * work.forced_tokens / nullif(work.completion_tokens, 0) AS forced_share,
    nullif(work.prompt_tokens - work.cached_tokens, 0) / nullif(work.prefill_s, 0) AS prefill_rate,
    work.completion_tokens / nullif(work.decode_s, 0) AS decode_rate,
    clock.wall_s + arms.store_s AS wall_s, arms.failure, score.grader, score.grader_version, score.similarity
FROM arms
JOIN runs ON runs.id = arms.run
LEFT JOIN score ON score.arm = arms.id
LEFT JOIN work ON work.arm = arms.id
LEFT JOIN clock ON clock.arm = arms.id
ORDER BY runs.rowid DESC, arms.position;
"""


_SCORING = """
CREATE TABLE verdicts (
    score INTEGER NOT NULL REFERENCES scores(id) ON DELETE CASCADE,
    prediction INTEGER NOT NULL REFERENCES predictions(id) ON DELETE CASCADE,
    match INTEGER NOT NULL,
    bad_action INTEGER NOT NULL,
    ground_truth_turn INTEGER,
    ground_truth_call INTEGER,
    reason TEXT NOT NULL,
    differences TEXT NOT NULL,
    PRIMARY KEY (score, prediction)
) WITHOUT ROWID;
CREATE TABLE error_types (
    score INTEGER NOT NULL REFERENCES scores(id) ON DELETE CASCADE,
    turn INTEGER NOT NULL,
    error_type TEXT NOT NULL,
    errors INTEGER NOT NULL,
    PRIMARY KEY (score, turn, error_type)
) WITHOUT ROWID;
CREATE TABLE faults (
    id INTEGER PRIMARY KEY,
    score INTEGER NOT NULL REFERENCES scores(id) ON DELETE CASCADE,
    turn INTEGER NOT NULL,
    kind TEXT NOT NULL,
    text TEXT NOT NULL,
    step INTEGER,
    ground_truth_turn INTEGER,
    ground_truth_call INTEGER,
    tool TEXT NOT NULL,
    argument TEXT NOT NULL,
    expected TEXT NOT NULL,
    got TEXT NOT NULL
);
CREATE INDEX verdicts_prediction ON verdicts(prediction);
CREATE INDEX faults_score ON faults(score);

CREATE VIEW turn_faults AS
SELECT runs.id AS run, arms.name AS arm, conversations.name AS conversation, scores.repeat, faults.turn,
    faults.step, faults.kind, faults.tool, faults.argument, faults.expected, faults.got, faults.text,
    scores.grader, scores.grader_version, scores.similarity
FROM faults
JOIN scores ON scores.id = faults.score
JOIN arms ON arms.id = scores.arm
JOIN runs ON runs.id = arms.run
JOIN conversations ON conversations.id = scores.conversation;
"""

_SALVAGED = """
CREATE VIEW salvaged AS
SELECT runs.id AS run, arms.name AS arm, predictions.salvage, predictions.kind, count(*) AS predictions
FROM predictions
JOIN turns ON turns.id = predictions.turn
JOIN arms ON arms.id = turns.arm
JOIN runs ON runs.id = arms.run
WHERE predictions.salvage <> ''
GROUP BY arms.id, predictions.salvage, predictions.kind;
"""


@MIGRATIONS()
def m001_runs(db: Database) -> None:
    """Runs, arms, conversations, turns, predictions and scores."""
    db.executescript(_TABLES)
    db.executescript(_VIEWS)


@MIGRATIONS()
def m002_scoring(db: Database) -> None:
    """What went wrong by each score, and the verdicts of scores that were made after the run."""
    db.executescript(_SCORING)


@MIGRATIONS()
def m003_suites(db: Database) -> None:
    """Which suite each conversation came from. Of earlier runs, their settings say it."""
    db.execute("ALTER TABLE conversations ADD COLUMN suite TEXT NOT NULL DEFAULT ''")
    for run in list(db.query("SELECT id, settings FROM runs")):
        settings = json.loads(run["settings"])
        if settings.get("conversations"):
            suite = suite_of(Path(settings["conversations"]))
        else:
            suite = settings.get("suite", "")
        # The easy suite's names ended so when the column was added, and those of no other.
        by_name = "CASE WHEN name LIKE '%-easy' THEN 'easy' ELSE 'hard' END"
        value = by_name if suite == "all" and not settings.get("conversations") else ":suite"
        db.execute(
            f"UPDATE conversations SET suite = {value} WHERE run = :run", {"suite": suite, "run": run["id"]}
        )


@MIGRATIONS()
def m004_costs(db: Database) -> None:
    """What an arm cost besides time: bytes, joules, and seconds of showing it. Unknown for earlier runs."""
    db.execute("ALTER TABLE arms ADD COLUMN display_s REAL NOT NULL DEFAULT 0")
    db.execute("ALTER TABLE arms ADD COLUMN peak_memory INTEGER")
    db.execute("ALTER TABLE arms ADD COLUMN peak_device_memory INTEGER")
    db.execute("ALTER TABLE arms ADD COLUMN energy_j REAL")


@MIGRATIONS()
def m005_views(db: Database) -> None:
    """Views for looking at runs by settings, conversation, turn, step, and flip. They only read."""
    db.executescript(VIEWS)


@MIGRATIONS()
def m006_salvage(db: Database) -> None:
    """How answers were found that were written without a grammar. Before, all were written with one."""
    db.execute("ALTER TABLE predictions ADD COLUMN salvage TEXT NOT NULL DEFAULT ''")
    db.executescript(_SALVAGED)


@MIGRATIONS()
def m007_tokens(db: Database) -> None:
    """Which characters of a prediction each token stands for, and which the grammar forced; empty before."""
    db.execute("ALTER TABLE predictions ADD COLUMN token_chars TEXT NOT NULL DEFAULT '[]'")
    db.execute("ALTER TABLE predictions ADD COLUMN token_forced TEXT NOT NULL DEFAULT '[]'")


with Database(memory=True) as _empty:
    KNOWN = frozenset(migration.name for migration in MIGRATIONS.pending(_empty))
"""The names of all migrations of this rig."""
