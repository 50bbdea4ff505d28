"""The SQL views of a store, including those that runs are exported as; see docs/reference/store.md.

Views hold no data. The writer of a run recreates them if they differ from those here, so they are not part of
the schema. Views with a column for each metric and count follow the runs in the store.
"""

from collections.abc import Iterable, Sequence
from pathlib import Path

from rig.core.budget import parse_json
from rig.core.calls import JsonObject
from rig.core.errors import MACHINE
from rig.core.metrics import RATE_SQL, Declaration
from rig.core.sqlite_import import Database

_EXPORTED = """
steps calls turn_results turn_faults conversation_scores rates metrics flips errors salvaged forms summary
arm_settings
"""
EXPORTED = tuple(_EXPORTED.split())
"""Views whose rows each belong to one run, so that a run can be exported as them."""

_WHERE = """
    runs.id AS run, runs.name AS name, arms.name AS arm, conversations.name AS conversation,
    conversations.suite
"""


def number(turn: str) -> str:
    """Return SQL for the number, from 1, of the assistant turn in a column, next to `conversations`."""
    return f"""coalesce((
        SELECT known.key + 1 FROM json_each(conversations.known_turns) AS known WHERE known.value = {turn}
    ), {turn} + 1)"""


_TURN = f"{number('turns.turn')} AS turn, turns.turn AS position"

_PLAYED = """FROM predictions
JOIN turns ON turns.id = predictions.turn
JOIN arms ON arms.id = turns.arm
JOIN runs ON runs.id = arms.run"""

_MACHINE = ", ".join(f"'{kind}'" for kind in sorted(MACHINE))

_GRADER = "grader, grader_version, similarity"


_RATE = RATE_SQL.format(part="above.value", whole="below.value")
"""A metric's rate; `above` and `below` are counts."""

_TOTALS = """
    SELECT arm, grader, grader_version, similarity, counts.name, sum(counts.value) AS value
    FROM scores JOIN counts ON counts.score = scores.id GROUP BY 1, 2, 3, 4, 5
"""

_SAME = """
    above.arm = below.arm AND above.grader = below.grader AND above.grader_version = below.grader_version
    AND above.similarity = below.similarity
"""

_FIRST = {
    "metrics": """
SELECT runs.id AS run, runs.method, json_extract(each.value, '$.name') AS metric,
    json_extract(each.value, '$.numerator') AS numerator,
    json_extract(each.value, '$.denominator') AS denominator, json_extract(each.value, '$.better') AS better
FROM runs JOIN json_each(runs.declaration, '$.metrics') AS each
""",
    "rates": f"""
WITH totals AS ({_TOTALS})
SELECT runs.id AS run, runs.name AS name, arms.name AS arm, metrics.metric,
    CASE WHEN json_extract(runs.settings, '$.until') IS NULL OR (
        SELECT played.value FROM totals AS played WHERE {_SAME.replace("above", "played")}
            AND played.name = 'tasks'
    ) >= (SELECT count(*) * runs.repeats FROM conversations WHERE conversations.run = runs.id)
    THEN {_RATE} END AS value, below.grader, below.grader_version, below.similarity
FROM totals AS below
JOIN arms ON arms.id = below.arm
JOIN runs ON runs.id = arms.run
JOIN metrics ON metrics.run = runs.id AND metrics.denominator = below.name
LEFT JOIN totals AS above ON {_SAME} AND above.name = metrics.numerator
""",
}
"""Views that other views read."""

_PLAIN = {
    "arm_settings": """
SELECT runs.id AS run, runs.name AS name, arms.name AS arm, setting.key AS setting,
    CASE WHEN setting.type IN ('true', 'false') THEN setting.type ELSE setting.value END AS value
FROM arms
JOIN runs ON runs.id = arms.run
JOIN json_each(arms.fingerprint) AS setting
""",
    "turn_results": f"""
WITH judged AS (
    SELECT turns.arm, turns.conversation, turns.repeat, predictions.ground_truth_turn AS turn, count(*) AS n
    FROM predictions JOIN turns ON turns.id = predictions.turn
    WHERE predictions.match AND predictions.ground_truth_turn IS NOT NULL GROUP BY 1, 2, 3, 4
),
made AS (
    SELECT turn, sum(kind = 'call') AS calls, sum(coalesce(bad_action, 0)) AS bad_actions
    FROM predictions GROUP BY turn
)
SELECT {_WHERE}, turns.repeat, {_TURN}, turns.wanted, coalesce(judged.n, 0) AS matched,
    coalesce(made.calls, 0) AS calls, coalesce(made.bad_actions, 0) AS bad_actions,
    coalesce(judged.n, 0) = turns.wanted AND coalesce(made.bad_actions, 0) = 0 AND turns.error IS NULL
        AS right,
    turns.error, turns.wall_s, turns.cpu_s, turns.tools_s, turns.scoring_s, turns.finished
FROM turns
JOIN arms ON arms.id = turns.arm
JOIN runs ON runs.id = arms.run
JOIN conversations ON conversations.id = turns.conversation
LEFT JOIN made ON made.turn = turns.id
LEFT JOIN judged ON judged.arm = turns.arm AND judged.conversation = turns.conversation
    AND judged.repeat = turns.repeat AND judged.turn = turns.turn
WHERE EXISTS (
    SELECT * FROM scores
    WHERE scores.arm = turns.arm AND scores.conversation = turns.conversation AND scores.repeat = turns.repeat
)
""",
    "steps": f"""
SELECT {_WHERE}, turns.repeat, {_TURN}, predictions.step, predictions.kind, predictions.tool,
    predictions.arguments, predictions.reply, predictions.error, predictions.error_detail,
    predictions.finish_reason, predictions.raw, predictions.response, predictions.exception,
    predictions.username, predictions.match, predictions.bad_action,
    {number("predictions.ground_truth_turn")} AS ground_truth_turn, predictions.ground_truth_call,
    predictions.reason, predictions.differences, predictions.prompt_tokens, predictions.cached_tokens,
    predictions.completion_tokens, predictions.forced_tokens,
    predictions.prefill_s, predictions.decode_s, predictions.mask_s, predictions.first_token_s,
    predictions.role, predictions.parent, predictions.reasoning, predictions.content, predictions.part,
    predictions.form, predictions.reasoning_tokens, predictions.reasoning_s
{_PLAYED}
JOIN conversations ON conversations.id = turns.conversation
""",
    "calls": """
SELECT run, arm, conversation, repeat, turn, position, step, tool, arguments, response, exception, match,
    bad_action, reason
FROM steps WHERE kind = 'call'
""",
    "turn_faults": f"""
SELECT runs.id AS run, arms.name AS arm, conversations.name AS conversation, scores.repeat,
    {number("faults.turn")} AS turn, faults.turn AS position,
    faults.step, faults.kind, faults.tool, faults.argument, faults.expected, faults.got, faults.text,
    scores.grader, scores.grader_version, scores.similarity
FROM faults
JOIN scores ON scores.id = faults.score
JOIN arms ON arms.id = scores.arm
JOIN runs ON runs.id = arms.run
JOIN conversations ON conversations.id = scores.conversation
""",
    "errors": f"""
SELECT runs.id AS run, arms.name AS arm, predictions.error, count(*) AS predictions
{_PLAYED}
WHERE predictions.error IS NOT NULL
GROUP BY arms.id, predictions.error
""",
    "salvaged": f"""
SELECT runs.id AS run, arms.name AS arm, predictions.salvage, predictions.kind, count(*) AS predictions
{_PLAYED}
WHERE predictions.salvage <> ''
GROUP BY arms.id, predictions.salvage, predictions.kind
""",
    "forms": f"""
SELECT runs.id AS run, arms.name AS arm, predictions.form, predictions.kind, count(*) AS predictions
{_PLAYED}
WHERE predictions.form <> ''
GROUP BY arms.id, predictions.form, predictions.kind
""",
}
"""Views with fixed columns, each after those that it reads."""


def refresh_views(database: Database) -> None:
    """Recreate the views that are out of date for the runs of a store. Needs a transaction."""
    rows = database.query("SELECT name, sql FROM sqlite_master WHERE type = 'view'")
    stored = {row["name"]: row["sql"] for row in rows}
    for name, text in _views(database):
        sql = f"CREATE VIEW {name} AS {text.strip()}"
        if stored.get(name) != sql:
            database.execute(f"DROP VIEW IF EXISTS {name}")
            database.execute(sql)


def create_temporary_views(database: Database) -> None:
    """Create the same views for this connection alone, in place of those in the store."""
    for name, text in _views(database):
        database.execute(f"CREATE TEMP VIEW {name} AS {text.strip()}")


def _views(database: Database) -> list[tuple[str, str]]:
    """Return the views for the runs of a store, by name, each after those that it reads."""
    rows = database.query("SELECT declaration FROM runs GROUP BY declaration ORDER BY min(rowid)")
    declarations = [Declaration.from_json(parse_json(row["declaration"])) for row in rows]
    metrics = _distinct(metric.name for declaration in declarations for metric in declaration.metrics)
    metrics = metrics[:_MOST_COLUMNS]
    sides = (name for declaration in declarations for name in declaration.sides(declaration.metrics))
    counts = _distinct(sides, metrics)[:_MOST_COLUMNS]
    parts = [part for declaration in declarations for part in declaration.outcome]
    outcomes = [name for name in _distinct(part.name for part in parts) if name in counts]
    wholes = [name for name in _distinct((part.whole for part in parts), outcomes) if name in counts]
    return [
        *_FIRST.items(),
        ("summary", _summary(metrics, counts)),
        ("conversation_scores", _conversation_scores(metrics, counts)),
        ("flips", _flips(outcomes, wholes)),
        *_PLAIN.items(),
    ]


_MOST_COLUMNS = 300
"""The most metrics, and the most counts, with their own columns; SQLite allows 2,000 columns."""

_RESERVED = """
run name arm created conversations turns errors steps prompt_tokens completion_tokens cached_share
forced_share prefill_rate decode_rate wall_s failure decided not_evaluated grader grader_version similarity
conversation suite repeat success own baseline flip tasks
"""
"""Columns that the wide views always have. Others with these names are only in `rates` and `counts`."""


def _distinct(names: Iterable[str], others: Iterable[str] = ()) -> list[str]:
    """Return names as columns: each once, ignoring case, without the reserved ones."""
    reserved = {*_RESERVED.split(), *(name.lower() for name in others)}
    by_letters = {name.lower(): name for name in names}
    return [name for folded, name in by_letters.items() if folded not in reserved]


def _summary(metrics: Sequence[str], counts: Sequence[str]) -> str:
    """Return SQL for a row per arm and grader, with a column for each metric and count."""
    return f"""
WITH score AS (
    SELECT arm, {_GRADER}, {_columns(("tasks", *counts), "sum(value)", "name")}
    FROM ({_TOTALS}) GROUP BY arm, {_GRADER}
),
rated AS (
    SELECT run, arm, {_GRADER}, {_columns(metrics, "max(value)", "metric")} FROM rates
    GROUP BY run, arm, {_GRADER}
),
work AS (
    SELECT turns.arm, count(*) AS steps, sum(predictions.error IS NOT NULL) AS errors,
        sum(predictions.error IN ({_MACHINE})) IS count(*) AS not_evaluated,
        sum(prompt_tokens) AS prompt_tokens, sum(cached_tokens) AS cached_tokens,
        sum(completion_tokens) AS completion_tokens, sum(forced_tokens) AS forced_tokens,
        sum(prefill_s) AS prefill_s, sum(decode_s) AS decode_s
    FROM predictions JOIN turns ON turns.id = predictions.turn GROUP BY turns.arm
),
clock AS (
    SELECT arm, count(*) AS turns, sum(wall_s) AS wall_s FROM turns GROUP BY arm
)
SELECT runs.id AS run, runs.name AS name, arms.name AS arm, runs.created,
    coalesce(score.tasks, 0) AS conversations, coalesce(clock.turns, 0) AS turns,
    {_named("rated", metrics)}{_named("score", counts)}
    coalesce(work.errors, 0) AS errors, coalesce(work.steps, 0) AS steps,
    work.prompt_tokens, work.completion_tokens,
    1.0 * work.cached_tokens / nullif(work.prompt_tokens, 0) AS cached_share,
    1.0 * work.forced_tokens / nullif(work.completion_tokens, 0) AS forced_share,
    nullif(work.prompt_tokens - work.cached_tokens, 0) / nullif(work.prefill_s, 0) AS prefill_rate,
    work.completion_tokens / nullif(work.decode_s, 0) AS decode_rate,
    clock.wall_s + arms.store_s AS wall_s, arms.failure, arms.decided,
    coalesce(work.not_evaluated, 0) AS not_evaluated, score.grader, score.grader_version, score.similarity
FROM arms
JOIN runs ON runs.id = arms.run
LEFT JOIN score ON score.arm = arms.id
LEFT JOIN work ON work.arm = arms.id
LEFT JOIN rated ON rated.run = runs.id AND rated.arm = arms.name AND rated.grader = score.grader
    AND rated.grader_version = score.grader_version AND rated.similarity = score.similarity
    AND NOT coalesce(work.not_evaluated, 0)
LEFT JOIN clock ON clock.arm = arms.id
ORDER BY runs.rowid DESC, arms.position
"""


def _conversation_scores(metrics: Sequence[str], counts: Sequence[str]) -> str:
    """Return SQL for a row per score of a conversation, with a column for each metric and count."""
    return f"""
WITH rated AS (
    SELECT below.score, {_columns(metrics, f"max({_RATE})", "metrics.metric")}
    FROM counts AS below
    JOIN scores ON scores.id = below.score
    JOIN arms ON arms.id = scores.arm
    JOIN metrics ON metrics.run = arms.run AND metrics.denominator = below.name
    LEFT JOIN counts AS above ON above.score = below.score AND above.name = metrics.numerator
    GROUP BY below.score
),
counted AS (
    SELECT score, {_columns(counts, "max(value)", "name")} FROM counts GROUP BY score
)
SELECT {_WHERE}, scores.repeat, success.value AS success,
    {_named("rated", metrics)}{_named("counted", counts)} scores.grader, scores.grader_version,
    scores.similarity, scores.own
FROM scores
JOIN arms ON arms.id = scores.arm
JOIN runs ON runs.id = arms.run
JOIN conversations ON conversations.id = scores.conversation
LEFT JOIN counts AS success ON success.score = scores.id
    AND success.name = json_extract(runs.declaration, '$.success')
LEFT JOIN rated ON rated.score = scores.id
LEFT JOIN counted ON counted.score = scores.id
"""


def _flips(counts: Sequence[str], wholes: Sequence[str]) -> str:
    """Return SQL for a row per conversation that only one of two arms of a run gets right."""
    before = "".join(f"before.{_quoted(count)} AS {_quoted(f'baseline_{count}')}, " for count in counts)
    return f"""
SELECT after.run, after.name, before.arm AS baseline, after.arm, after.conversation, after.suite,
    after.repeat, CASE WHEN after.success THEN 'won' ELSE 'lost' END AS flip,
    {before}{_named("after", (*counts, *wholes))} after.grader, after.grader_version, after.similarity
FROM conversation_scores AS after
JOIN conversation_scores AS before ON before.run = after.run AND before.conversation = after.conversation
    AND before.repeat = after.repeat AND before.grader = after.grader
    AND before.grader_version = after.grader_version AND before.similarity = after.similarity
JOIN arms AS baseline_arm ON baseline_arm.run = before.run AND baseline_arm.name = before.arm
JOIN arms AS arm ON arm.run = after.run AND arm.name = after.arm
WHERE before.success != after.success AND baseline_arm.position < arm.position
"""


def _columns(names: Sequence[str], value: str, by: str) -> str:
    """Return SQL that pivots rows into columns: for each name, the value where `by` equals it."""
    columns = (f"{value} FILTER (WHERE {by} = {_text(name)}) AS {_quoted(name)}" for name in names)
    return ", ".join(columns) or "NULL"


def _named(table: str, names: Sequence[str]) -> str:
    """Return these columns of a table, each followed by a comma."""
    return "".join(f"{table}.{_quoted(name)}, " for name in names)


def _quoted(name: str) -> str:
    return '"' + name.replace('"', '""') + '"'


def _text(value: str) -> str:
    return "'" + value.replace("'", "''") + "'"


def datasette_metadata(store: Path) -> JsonObject:
    """Return Datasette's metadata for a store with this name: descriptions and example queries."""
    shipped: JsonObject = parse_json(Path(__file__).with_name("datasette.json").read_text(encoding="utf-8"))
    return {**shipped, "databases": {store.stem: shipped["databases"]["runs"]}}


def described() -> dict[str, JsonObject]:
    """Return, by the names of views and tables, a `description`, and the `columns` with theirs."""
    tables: dict[str, JsonObject] = datasette_metadata(Path("runs"))["databases"]["runs"]["tables"]
    return tables
