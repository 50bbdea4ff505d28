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
