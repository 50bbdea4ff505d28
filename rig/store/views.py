"""The views of migration m005, and those that runs are exported as. docs/store.md describes every column."""

EXPORTED = (
    "steps",
    "calls",
    "turn_results",
    "turn_faults",
    "conversation_scores",
    "flips",
    "errors",
    "salvaged",
    "summary",
    "arm_settings",
)
"""Views whose rows are of one run each, which a run can be exported as."""

_WHERE = """
    runs.id AS run, runs.name AS name, arms.name AS arm, conversations.name AS conversation,
    conversations.suite
"""

_IS_OWN = """
    scores.id = (
        SELECT min(first.id) FROM scores AS first
        WHERE first.arm = scores.arm AND first.conversation = scores.conversation
            AND first.repeat = scores.repeat
    )
"""

VIEWS = f"""
CREATE VIEW arm_settings AS
SELECT runs.id AS run, runs.name AS name, arms.name AS arm, setting.key AS setting,
    CASE WHEN setting.type IN ('true', 'false') THEN setting.type ELSE setting.value END AS value
FROM arms
JOIN runs ON runs.id = arms.run
JOIN json_each(arms.fingerprint) AS setting;

CREATE VIEW conversation_scores AS
SELECT {_WHERE}, scores.repeat, scores.successes AS success, scores.soft_successes AS soft_success,
    1.0 * scores.matches / nullif(scores.ground_truths, 0) AS recall,
    1.0 * scores.matches / nullif(scores.predictions, 0) AS "precision",
    1.0 * scores.bad_actions / nullif(scores.actions, 0) AS incorrect_action_rate,
    scores.ground_truths, scores.predictions, scores.matches, scores.actions, scores.valid_actions,
    scores.bad_actions, scores.grader, scores.grader_version, scores.similarity, {_IS_OWN} AS own
FROM scores
JOIN arms ON arms.id = scores.arm
JOIN runs ON runs.id = arms.run
JOIN conversations ON conversations.id = scores.conversation;

CREATE VIEW turn_results AS
WITH judged AS (
    SELECT turns.arm, turns.conversation, turns.repeat, predictions.ground_truth_turn AS turn, count(*) AS n
    FROM predictions JOIN turns ON turns.id = predictions.turn
    WHERE predictions.match AND predictions.ground_truth_turn IS NOT NULL GROUP BY 1, 2, 3, 4
),
made AS (
    SELECT turn, sum(kind = 'call') AS calls, sum(coalesce(bad_action, 0)) AS bad_actions
    FROM predictions GROUP BY turn
),
due AS (
    SELECT conversations.id AS conversation, entry.key AS turn,
        coalesce(json_array_length(entry.value, '$.apis'), 0) AS wanted
    FROM conversations
    JOIN sources ON sources.sha256 = conversations.source
    JOIN json_each(sources.json, '$.conversation') AS entry
)
SELECT {_WHERE}, turns.repeat, turns.turn, due.wanted, coalesce(judged.n, 0) AS matched,
    coalesce(made.calls, 0) AS calls, coalesce(made.bad_actions, 0) AS bad_actions,
    coalesce(judged.n, 0) = due.wanted AND coalesce(made.bad_actions, 0) = 0 AS right,
    turns.error, turns.wall_s, turns.tools_s, turns.scoring_s, turns.finished
FROM turns
JOIN arms ON arms.id = turns.arm
JOIN runs ON runs.id = arms.run
JOIN conversations ON conversations.id = turns.conversation
JOIN due ON due.conversation = turns.conversation AND due.turn = turns.turn
LEFT JOIN made ON made.turn = turns.id
LEFT JOIN judged ON judged.arm = turns.arm AND judged.conversation = turns.conversation
    AND judged.repeat = turns.repeat AND judged.turn = turns.turn
WHERE EXISTS (
    SELECT * FROM scores
    WHERE scores.arm = turns.arm AND scores.conversation = turns.conversation AND scores.repeat = turns.repeat
);

CREATE VIEW steps AS
SELECT {_WHERE}, turns.repeat, turns.turn, predictions.step, predictions.kind, predictions.tool,
    predictions.arguments, predictions.reply, predictions.error, predictions.error_detail,
    predictions.finish_reason, predictions.raw, predictions.response, predictions.exception,
    predictions.username, predictions.match, predictions.bad_action, predictions.ground_truth_turn,
    predictions.ground_truth_call, predictions.reason, predictions.differences, predictions.prompt_tokens,
    predictions.cached_tokens, predictions.completion_tokens, predictions.forced_tokens,
    predictions.prefill_s, predictions.decode_s, predictions.mask_s, predictions.first_token_s
FROM predictions
JOIN turns ON turns.id = predictions.turn
JOIN arms ON arms.id = turns.arm
JOIN runs ON runs.id = arms.run
JOIN conversations ON conversations.id = turns.conversation;

CREATE VIEW flips AS
SELECT runs.id AS run, runs.name AS name, baseline_arm.name AS baseline, arm.name AS arm,
    conversations.name AS conversation, conversations.suite, after.repeat,
    CASE WHEN after.successes THEN 'won' ELSE 'lost' END AS flip,
    before.matches AS baseline_matches, after.matches AS matches, after.ground_truths,
    before.bad_actions AS baseline_bad_actions, after.bad_actions AS bad_actions,
    after.grader, after.grader_version, after.similarity
FROM scores AS after
JOIN arms AS arm ON arm.id = after.arm
JOIN runs ON runs.id = arm.run
JOIN arms AS baseline_arm ON baseline_arm.run = arm.run AND baseline_arm.position < arm.position
JOIN scores AS before ON before.arm = baseline_arm.id AND before.conversation = after.conversation
    AND before.repeat = after.repeat AND before.grader = after.grader
    AND before.grader_version = after.grader_version AND before.similarity = after.similarity
JOIN conversations ON conversations.id = after.conversation
WHERE before.successes != after.successes;
"""
