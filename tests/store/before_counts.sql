BEGIN TRANSACTION;
CREATE TABLE "_sqlite_migrations" (
   "id" INTEGER PRIMARY KEY,
   "migration_set" TEXT,
   "name" TEXT,
   "applied_at" TEXT
);
INSERT INTO "_sqlite_migrations" VALUES(1,'rig.runs','m001_runs','2026-11-22 06:22:18.333477+00:00');
INSERT INTO "_sqlite_migrations" VALUES(2,'rig.runs','m002_scoring','2026-11-22 06:22:18.336099+00:00');
INSERT INTO "_sqlite_migrations" VALUES(3,'rig.runs','m003_suites','2026-11-22 06:22:18.336791+00:00');
INSERT INTO "_sqlite_migrations" VALUES(4,'rig.runs','m004_costs','2026-11-22 06:22:18.342427+00:00');
INSERT INTO "_sqlite_migrations" VALUES(5,'rig.runs','m005_views','2026-11-22 06:22:18.392747+00:00');
INSERT INTO "_sqlite_migrations" VALUES(6,'rig.runs','m006_salvage','2026-11-22 06:22:18.398320+00:00');
INSERT INTO "_sqlite_migrations" VALUES(7,'rig.runs','m007_tokens','2026-11-22 06:22:18.399499+00:00');
CREATE TABLE arms (
    id INTEGER PRIMARY KEY,
    run TEXT NOT NULL REFERENCES runs(id) ON DELETE CASCADE,
    position INTEGER NOT NULL,
    name TEXT NOT NULL,
    fingerprint TEXT,
    fingerprint_sha256 TEXT,
    failure TEXT,
    load_s REAL,
    store_s REAL NOT NULL DEFAULT 0, display_s REAL NOT NULL DEFAULT 0, peak_memory INTEGER, peak_device_memory INTEGER, energy_j REAL,
    UNIQUE (run, position),
    UNIQUE (run, name)
);
INSERT INTO "arms" VALUES(1,'abcde',0,'arm0','{"grader.grader": "default", "grader.grader_version": "4", "grader.similarity": "exact", "grader.threshold_body": 1.0, "grader.threshold_event": 1.0, "grader.threshold_location": 1.0, "grader.threshold_subject": 1.0, "grader.threshold_task": 1.0, "model.engine": "scripted", "model.file_sha256": "0", "protocol.docs": "full", "protocol.history": "recorded", "protocol.max_calls": 3, "protocol.prompt_sha256": "6aab0dfb46dcf80a828e2021922fbcc7158e51315ce6965a88df067d72f8d7c4", "protocol.protocol": "tooltalk", "protocol.tools": "all", "rig": "0.1.0"}','44cb6c7e3a7c35a4cd77d956b0cc90477661307f49628412c3f0fe8237df9b1e',NULL,1.08069999441795516759e-04,1.10700451003140187822e-01,2.4321000637428369373e-05,55697408,NULL,NULL);
INSERT INTO "arms" VALUES(2,'abcde',1,'arm1','{"grader.grader": "default", "grader.grader_version": "4", "grader.similarity": "exact", "grader.threshold_body": 1.0, "grader.threshold_event": 1.0, "grader.threshold_location": 1.0, "grader.threshold_subject": 1.0, "grader.threshold_task": 1.0, "model.engine": "scripted", "model.file_sha256": "0", "protocol.docs": "full", "protocol.history": "recorded", "protocol.max_calls": 3, "protocol.prompt_sha256": "6aab0dfb46dcf80a828e2021922fbcc7158e51315ce6965a88df067d72f8d7c4", "protocol.protocol": "tooltalk", "protocol.tools": "all", "rig": "0.1.0"}','44cb6c7e3a7c35a4cd77d956b0cc90477661307f49628412c3f0fe8237df9b1e',NULL,5.48810003238031640648e-05,3.95879549996607238426e-02,3.3443997381255030632e-05,55758848,NULL,NULL);
INSERT INTO "arms" VALUES(3,'q385d',0,'oracle','{"grader.grader": "default", "grader.grader_version": "4", "grader.similarity": "exact", "grader.threshold_body": 1.0, "grader.threshold_event": 1.0, "grader.threshold_location": 1.0, "grader.threshold_subject": 1.0, "grader.threshold_task": 1.0, "model.engine": "oracle", "protocol.docs": "full", "protocol.history": "recorded", "protocol.max_calls": 10, "protocol.prompt_sha256": "6aab0dfb46dcf80a828e2021922fbcc7158e51315ce6965a88df067d72f8d7c4", "protocol.protocol": "tooltalk", "protocol.tools": "all", "rig": "0.1.0", "world_sha256": "d881fe3d6c03513cf1ce09d5c4f4322f82cdbd56a806bdb590c1dabc446be2d3"}','43cf48c0abea48f6396cee1f8e7e14523dc2acb388b7fd976598ef1a6a0bfa2c',NULL,6.88519994582748e-05,1.66447599995080963708e-02,9.52000209508696570992e-06,56606720,NULL,NULL);
CREATE TABLE conversations (
    id INTEGER PRIMARY KEY,
    run TEXT NOT NULL REFERENCES runs(id) ON DELETE CASCADE,
    position INTEGER NOT NULL,
    name TEXT NOT NULL,
    turns INTEGER NOT NULL,
    ground_truths INTEGER NOT NULL,
    source TEXT NOT NULL REFERENCES sources(sha256), suite TEXT NOT NULL DEFAULT '',
    UNIQUE (run, position),
    UNIQUE (run, name)
);
INSERT INTO "conversations" VALUES(1,'abcde',0,'talk00',2,2,'cec41afba28af4ce24d5684675d768154bc989dfb7bf8aae47c8cc27013cda58','hard');
INSERT INTO "conversations" VALUES(2,'abcde',1,'talk01',2,2,'58cc2d92df7c832d6d22110c3616c59a54c30cb4851df8f5f191c6fa4cd5883e','easy');
INSERT INTO "conversations" VALUES(3,'abcde',2,'talk02',2,2,'2f1ac5585fb308d47ddc3ac64b6fcd8208c3dcdb2ea767e769cd44aff878a4b7','hard');
INSERT INTO "conversations" VALUES(4,'abcde',3,'talk03',2,2,'6b6d8b06b9aa86077d4d77461a74672f980c2398ff779ade60a91773a6b6d129','easy');
INSERT INTO "conversations" VALUES(5,'q385d',0,'AddAlarm-easy',2,1,'2029118fc55b8ff97cb24ea7850d76b845b3c7ee8246fd4b2c898e6642655eff','easy');
INSERT INTO "conversations" VALUES(6,'q385d',1,'AddReminder-easy',2,1,'55555bf7adf58b0ada46c1f20db9fd924705aa658f247e25cb6621826a6f2ca3','easy');
CREATE TABLE error_types (
    score INTEGER NOT NULL REFERENCES scores(id) ON DELETE CASCADE,
    turn INTEGER NOT NULL,
    error_type TEXT NOT NULL,
    errors INTEGER NOT NULL,
    PRIMARY KEY (score, turn, error_type)
) WITHOUT ROWID;
INSERT INTO "error_types" VALUES(1,3,'faulty planning',1);
INSERT INTO "error_types" VALUES(2,3,'faulty planning',1);
INSERT INTO "error_types" VALUES(6,3,'incorrect invocation',1);
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
INSERT INTO "faults" VALUES(1,1,3,'missing call','AddAlarm was not called',NULL,3,0,'AddAlarm','','{"time":"00:40:00","session_token":"0f0f0f0f-1111-2222"}','null');
INSERT INTO "faults" VALUES(2,2,3,'missing call','AddAlarm was not called',NULL,3,0,'AddAlarm','','{"time":"01:40:00","session_token":"0f0f0f0f-1111-2222"}','null');
INSERT INTO "faults" VALUES(3,6,3,'wrong argument','AddAlarm: time: expected ''01:40:00'', got ''23:59:00''',0,3,0,'AddAlarm','time','"01:40:00"','"23:59:00"');
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
    logprobs TEXT NOT NULL, salvage TEXT NOT NULL DEFAULT '', token_chars TEXT NOT NULL DEFAULT '[]', token_forced TEXT NOT NULL DEFAULT '[]',
    UNIQUE (turn, step)
);
INSERT INTO "predictions" VALUES(1,1,0,'call','{"name": "AddAlarm", "arguments": {"time": "00:10:00"}}','AddAlarm','{"time":"00:10:00"}',NULL,NULL,'','stop','["AddAlarm",{"time":"00:10:00","session_token":"0f0f0f0f-1111-2222"},null]','{"alarm_id":"5bff-dd80"}',NULL,'mara',1,0,1,0,'matches the ground truth','[]',100,60,10,0,0.1,0.2,0.0,0.0,'[]','[]','','[]','[]');
INSERT INTO "predictions" VALUES(2,1,1,'reply','Done.',NULL,NULL,'Done.',NULL,'','stop',NULL,NULL,NULL,NULL,NULL,NULL,NULL,NULL,NULL,NULL,100,60,10,0,0.1,0.2,0.0,0.0,'[]','[]','','[]','[]');
INSERT INTO "predictions" VALUES(3,2,0,'reply','No.',NULL,NULL,'No.',NULL,'','stop',NULL,NULL,NULL,NULL,NULL,NULL,NULL,NULL,NULL,NULL,100,60,10,0,0.1,0.2,0.0,0.0,'[]','[]','','[]','[]');
INSERT INTO "predictions" VALUES(4,3,0,'call','{"name": "AddAlarm", "arguments": {"time": "01:10:00"}}','AddAlarm','{"time":"01:10:00"}',NULL,NULL,'','stop','["AddAlarm",{"time":"01:10:00","session_token":"0f0f0f0f-1111-2222"},null]','{"alarm_id":"5bff-dd80"}',NULL,'mara',1,0,1,0,'matches the ground truth','[]',100,60,10,0,0.1,0.2,0.0,0.0,'[]','[]','','[]','[]');
INSERT INTO "predictions" VALUES(5,3,1,'reply','Done.',NULL,NULL,'Done.',NULL,'','stop',NULL,NULL,NULL,NULL,NULL,NULL,NULL,NULL,NULL,NULL,100,60,10,0,0.1,0.2,0.0,0.0,'[]','[]','','[]','[]');
INSERT INTO "predictions" VALUES(6,4,0,'reply','No.',NULL,NULL,'No.',NULL,'','stop',NULL,NULL,NULL,NULL,NULL,NULL,NULL,NULL,NULL,NULL,100,60,10,0,0.1,0.2,0.0,0.0,'[]','[]','','[]','[]');
INSERT INTO "predictions" VALUES(7,5,0,'call','{"name": "AddAlarm", "arguments": {"time": "02:10:00"}}','AddAlarm','{"time":"02:10:00"}',NULL,NULL,'','stop','["AddAlarm",{"time":"02:10:00","session_token":"0f0f0f0f-1111-2222"},null]','{"alarm_id":"5bff-dd80"}',NULL,'mara',1,0,1,0,'matches the ground truth','[]',100,60,10,0,0.1,0.2,0.0,0.0,'[]','[]','','[]','[]');
INSERT INTO "predictions" VALUES(8,5,1,'reply','Done.',NULL,NULL,'Done.',NULL,'','stop',NULL,NULL,NULL,NULL,NULL,NULL,NULL,NULL,NULL,NULL,100,60,10,0,0.1,0.2,0.0,0.0,'[]','[]','','[]','[]');
INSERT INTO "predictions" VALUES(9,6,0,'call','{"name": "AddAlarm", "arguments": {"time": "02:40:00"}}','AddAlarm','{"time":"02:40:00"}',NULL,NULL,'','stop','["AddAlarm",{"time":"02:40:00","session_token":"0f0f0f0f-1111-2222"},null]','{"alarm_id":"20d0-d9ca"}',NULL,'mara',1,0,3,0,'matches the ground truth','[]',100,60,10,0,0.1,0.2,0.0,0.0,'[]','[]','','[]','[]');
INSERT INTO "predictions" VALUES(10,6,1,'reply','Done, too.',NULL,NULL,'Done, too.',NULL,'','stop',NULL,NULL,NULL,NULL,NULL,NULL,NULL,NULL,NULL,NULL,100,60,10,0,0.1,0.2,0.0,0.0,'[]','[]','','[]','[]');
INSERT INTO "predictions" VALUES(11,7,0,'call','{"name": "AddAlarm", "arguments": {"time": "03:10:00"}}','AddAlarm','{"time":"03:10:00"}',NULL,NULL,'','stop','["AddAlarm",{"time":"03:10:00","session_token":"0f0f0f0f-1111-2222"},null]','{"alarm_id":"5bff-dd80"}',NULL,'mara',1,0,1,0,'matches the ground truth','[]',100,60,10,0,0.1,0.2,0.0,0.0,'[]','[]','','[]','[]');
INSERT INTO "predictions" VALUES(12,7,1,'reply','Done.',NULL,NULL,'Done.',NULL,'','stop',NULL,NULL,NULL,NULL,NULL,NULL,NULL,NULL,NULL,NULL,100,60,10,0,0.1,0.2,0.0,0.0,'[]','[]','','[]','[]');
INSERT INTO "predictions" VALUES(13,8,0,'call','{"name": "AddAlarm", "arguments": {"time": "03:40:00"}}','AddAlarm','{"time":"03:40:00"}',NULL,NULL,'','stop','["AddAlarm",{"time":"03:40:00","session_token":"0f0f0f0f-1111-2222"},null]','{"alarm_id":"20d0-d9ca"}',NULL,'mara',1,0,3,0,'matches the ground truth','[]',100,60,10,0,0.1,0.2,0.0,0.0,'[]','[]','','[]','[]');
INSERT INTO "predictions" VALUES(14,8,1,'reply','Done, too.',NULL,NULL,'Done, too.',NULL,'','stop',NULL,NULL,NULL,NULL,NULL,NULL,NULL,NULL,NULL,NULL,100,60,10,0,0.1,0.2,0.0,0.0,'[]','[]','','[]','[]');
INSERT INTO "predictions" VALUES(15,9,0,'call','{"name": "AddAlarm", "arguments": {"time": "00:10:00"}}','AddAlarm','{"time":"00:10:00"}',NULL,NULL,'','stop','["AddAlarm",{"time":"00:10:00","session_token":"0f0f0f0f-1111-2222"},null]','{"alarm_id":"5bff-dd80"}',NULL,'mara',1,0,1,0,'matches the ground truth','[]',100,60,10,0,0.1,0.2,0.0,0.0,'[]','[]','','[]','[]');
INSERT INTO "predictions" VALUES(16,9,1,'reply','Done.',NULL,NULL,'Done.',NULL,'','stop',NULL,NULL,NULL,NULL,NULL,NULL,NULL,NULL,NULL,NULL,100,60,10,0,0.1,0.2,0.0,0.0,'[]','[]','','[]','[]');
INSERT INTO "predictions" VALUES(17,10,0,'call','{"name": "AddAlarm", "arguments": {"time": "00:40:00"}}','AddAlarm','{"time":"00:40:00"}',NULL,NULL,'','stop','["AddAlarm",{"time":"00:40:00","session_token":"0f0f0f0f-1111-2222"},null]','{"alarm_id":"20d0-d9ca"}',NULL,'mara',1,0,3,0,'matches the ground truth','[]',100,60,10,0,0.1,0.2,0.0,0.0,'[]','[]','','[]','[]');
INSERT INTO "predictions" VALUES(18,10,1,'reply','Done, too.',NULL,NULL,'Done, too.',NULL,'','stop',NULL,NULL,NULL,NULL,NULL,NULL,NULL,NULL,NULL,NULL,100,60,10,0,0.1,0.2,0.0,0.0,'[]','[]','','[]','[]');
INSERT INTO "predictions" VALUES(19,11,0,'call','{"name": "AddAlarm", "arguments": {"time": "01:10:00"}}','AddAlarm','{"time":"01:10:00"}',NULL,NULL,'','stop','["AddAlarm",{"time":"01:10:00","session_token":"0f0f0f0f-1111-2222"},null]','{"alarm_id":"5bff-dd80"}',NULL,'mara',1,0,1,0,'matches the ground truth','[]',100,60,10,0,0.1,0.2,0.0,0.0,'[]','[]','','[]','[]');
INSERT INTO "predictions" VALUES(20,11,1,'reply','Done.',NULL,NULL,'Done.',NULL,'','stop',NULL,NULL,NULL,NULL,NULL,NULL,NULL,NULL,NULL,NULL,100,60,10,0,0.1,0.2,0.0,0.0,'[]','[]','','[]','[]');
INSERT INTO "predictions" VALUES(21,12,0,'call','{"name": "AddAlarm", "arguments": {"time": "23:59:00"}}','AddAlarm','{"time":"23:59:00"}',NULL,NULL,'','stop','["AddAlarm",{"time":"23:59:00","session_token":"0f0f0f0f-1111-2222"},null]','{"alarm_id":"20d0-d9ca"}',NULL,'mara',0,1,NULL,NULL,'time: expected ''01:10:00'', got ''23:59:00''','[{"what":"time","expected":"01:10:00","got":"23:59:00","similarity":null,"threshold":null,"note":null}]',100,60,10,0,0.1,0.2,0.0,0.0,'[]','[]','','[]','[]');
INSERT INTO "predictions" VALUES(22,12,1,'reply','No.',NULL,NULL,'No.',NULL,'','stop',NULL,NULL,NULL,NULL,NULL,NULL,NULL,NULL,NULL,NULL,100,60,10,0,0.1,0.2,0.0,0.0,'[]','[]','','[]','[]');
INSERT INTO "predictions" VALUES(23,13,0,'call','{"name": "AddAlarm", "arguments": {"time": "02:10:00"}}','AddAlarm','{"time":"02:10:00"}',NULL,NULL,'','stop','["AddAlarm",{"time":"02:10:00","session_token":"0f0f0f0f-1111-2222"},null]','{"alarm_id":"5bff-dd80"}',NULL,'mara',1,0,1,0,'matches the ground truth','[]',100,60,10,0,0.1,0.2,0.0,0.0,'[]','[]','','[]','[]');
INSERT INTO "predictions" VALUES(24,13,1,'reply','Done.',NULL,NULL,'Done.',NULL,'','stop',NULL,NULL,NULL,NULL,NULL,NULL,NULL,NULL,NULL,NULL,100,60,10,0,0.1,0.2,0.0,0.0,'[]','[]','','[]','[]');
INSERT INTO "predictions" VALUES(25,14,0,'call','{"name": "AddAlarm", "arguments": {"time": "02:40:00"}}','AddAlarm','{"time":"02:40:00"}',NULL,NULL,'','stop','["AddAlarm",{"time":"02:40:00","session_token":"0f0f0f0f-1111-2222"},null]','{"alarm_id":"20d0-d9ca"}',NULL,'mara',1,0,3,0,'matches the ground truth','[]',100,60,10,0,0.1,0.2,0.0,0.0,'[]','[]','','[]','[]');
INSERT INTO "predictions" VALUES(26,14,1,'reply','Done, too.',NULL,NULL,'Done, too.',NULL,'','stop',NULL,NULL,NULL,NULL,NULL,NULL,NULL,NULL,NULL,NULL,100,60,10,0,0.1,0.2,0.0,0.0,'[]','[]','','[]','[]');
INSERT INTO "predictions" VALUES(27,15,0,'call','{"name": "AddAlarm", "arguments": {"time": "03:10:00"}}','AddAlarm','{"time":"03:10:00"}',NULL,NULL,'','stop','["AddAlarm",{"time":"03:10:00","session_token":"0f0f0f0f-1111-2222"},null]','{"alarm_id":"5bff-dd80"}',NULL,'mara',1,0,1,0,'matches the ground truth','[]',100,60,10,0,0.1,0.2,0.0,0.0,'[]','[]','','[]','[]');
INSERT INTO "predictions" VALUES(28,15,1,'reply','Done.',NULL,NULL,'Done.',NULL,'','stop',NULL,NULL,NULL,NULL,NULL,NULL,NULL,NULL,NULL,NULL,100,60,10,0,0.1,0.2,0.0,0.0,'[]','[]','','[]','[]');
INSERT INTO "predictions" VALUES(29,16,0,'call','{"name": "AddAlarm", "arguments": {"time": "03:40:00"}}','AddAlarm','{"time":"03:40:00"}',NULL,NULL,'','stop','["AddAlarm",{"time":"03:40:00","session_token":"0f0f0f0f-1111-2222"},null]','{"alarm_id":"20d0-d9ca"}',NULL,'mara',1,0,3,0,'matches the ground truth','[]',100,60,10,0,0.1,0.2,0.0,0.0,'[]','[]','','[]','[]');
INSERT INTO "predictions" VALUES(30,16,1,'reply','Done, too.',NULL,NULL,'Done, too.',NULL,'','stop',NULL,NULL,NULL,NULL,NULL,NULL,NULL,NULL,NULL,NULL,100,60,10,0,0.1,0.2,0.0,0.0,'[]','[]','','[]','[]');
INSERT INTO "predictions" VALUES(31,17,0,'reply','What time should the alarm go off?',NULL,NULL,'What time should the alarm go off?',NULL,'','stop',NULL,NULL,NULL,NULL,NULL,NULL,NULL,NULL,NULL,NULL,0,0,0,0,0.0,0.0,0.0,0.0,'[]','[]','','[]','[]');
INSERT INTO "predictions" VALUES(32,18,0,'call','{"name": "AddAlarm", "arguments": {"time": "04:50:00"}}','AddAlarm','{"time":"04:50:00"}',NULL,NULL,'','stop','["AddAlarm",{"time":"04:50:00","session_token":"4f1c9b27-a3e6-58d0"},null]','{"alarm_id":"5bff-dd80"}',NULL,'mei_lin_t',1,0,3,0,'matches the ground truth','[]',0,0,0,0,0.0,0.0,0.0,0.0,'[]','[]','','[]','[]');
INSERT INTO "predictions" VALUES(33,18,1,'reply','Your alarm is set for 4:50 in the morning.',NULL,NULL,'Your alarm is set for 4:50 in the morning.',NULL,'','stop',NULL,NULL,NULL,NULL,NULL,NULL,NULL,NULL,NULL,NULL,0,0,0,0,0.0,0.0,0.0,0.0,'[]','[]','','[]','[]');
INSERT INTO "predictions" VALUES(34,19,0,'reply','Sure. When should I remind you?',NULL,NULL,'Sure. When should I remind you?',NULL,'','stop',NULL,NULL,NULL,NULL,NULL,NULL,NULL,NULL,NULL,NULL,0,0,0,0,0.0,0.0,0.0,0.0,'[]','[]','','[]','[]');
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
INSERT INTO "runs" VALUES('abcde',NULL,'2026-11-22T06:22:18.406+00:00','2026-11-22T06:22:18.709+00:00','0.1.0','{}',1,NULL,'2026-11-22T06:22:18.710+00:00');
INSERT INTO "runs" VALUES('q385d','oracle','2026-11-22T06:22:21.176+00:00',NULL,'0.1.0','{"models":["oracle"],"suite":"easy","conversations":null,"world":null,"only":[],"limit":2,"docs":"full","tools":"all","history":"recorded","max_calls":10,"max_tokens":256,"temperature":0.0,"grammar":"json","grammar_engine":"llguidance","parameter_order":"fixed","exact":false,"parallel":null,"prefix_cache":true,"seed":0,"n_ctx":null,"n_batch":null,"kv":"f16","flash_attention":"auto","threads":2,"gpu_layers":null,"chat_template":null,"grader":"default","similarity":"exact","repeats":1,"noise":false}',1,NULL,'2026-11-22T06:22:21.242+00:00');
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
INSERT INTO "scores" VALUES(1,1,1,0,'default','4','exact',0,0.5,1,2,1,1,1,0);
INSERT INTO "scores" VALUES(2,1,2,0,'default','4','exact',0,0.5,1,2,1,1,1,0);
INSERT INTO "scores" VALUES(3,1,3,0,'default','4','exact',1,1.0,2,2,2,2,2,0);
INSERT INTO "scores" VALUES(4,1,4,0,'default','4','exact',1,1.0,2,2,2,2,2,0);
INSERT INTO "scores" VALUES(5,2,1,0,'default','4','exact',1,1.0,2,2,2,2,2,0);
INSERT INTO "scores" VALUES(6,2,2,0,'default','4','exact',0,0.25,2,2,1,2,1,1);
INSERT INTO "scores" VALUES(7,2,3,0,'default','4','exact',1,1.0,2,2,2,2,2,0);
INSERT INTO "scores" VALUES(8,2,4,0,'default','4','exact',1,1.0,2,2,2,2,2,0);
INSERT INTO "scores" VALUES(9,3,5,0,'default','4','exact',1,1.0,1,1,1,1,1,0);
CREATE TABLE sources (
    sha256 TEXT PRIMARY KEY,
    json TEXT NOT NULL
);
INSERT INTO "sources" VALUES('cec41afba28af4ce24d5684675d768154bc989dfb7bf8aae47c8cc27013cda58','{"name":"talk00","conversation_id":"talk00","suites_used":["Alarm","Reminder","Messages","AccountTools"],"apis_used":["AddAlarm"],"user":{"username":"mara","session_token":"0f0f0f0f-1111-2222"},"metadata":{"location":"Springfield","timestamp":"2024-03-05 09:00:00","username":"mara"},"conversation":[{"index":0,"role":"user","text":"Wake me at 0."},{"index":1,"role":"assistant","text":"Done.","apis":[{"request":{"api_name":"AddAlarm","parameters":{"time":"00:10:00","session_token":"0f0f0f0f-1111-2222"}},"response":{"alarm_id":"5bff-dd80"},"exception":null}]},{"index":2,"role":"user","text":"And half an hour later."},{"index":3,"role":"assistant","text":"Done, too.","apis":[{"request":{"api_name":"AddAlarm","parameters":{"time":"00:40:00","session_token":"0f0f0f0f-1111-2222"}},"response":{"alarm_id":"20d0-d9ca"},"exception":null}]}]}');
INSERT INTO "sources" VALUES('58cc2d92df7c832d6d22110c3616c59a54c30cb4851df8f5f191c6fa4cd5883e','{"name":"talk01","conversation_id":"talk01","suites_used":["Alarm","Reminder","Messages","AccountTools"],"apis_used":["AddAlarm"],"user":{"username":"mara","session_token":"0f0f0f0f-1111-2222"},"metadata":{"location":"Springfield","timestamp":"2024-03-05 09:00:00","username":"mara"},"conversation":[{"index":0,"role":"user","text":"Wake me at 1."},{"index":1,"role":"assistant","text":"Done.","apis":[{"request":{"api_name":"AddAlarm","parameters":{"time":"01:10:00","session_token":"0f0f0f0f-1111-2222"}},"response":{"alarm_id":"5bff-dd80"},"exception":null}]},{"index":2,"role":"user","text":"And half an hour later."},{"index":3,"role":"assistant","text":"Done, too.","apis":[{"request":{"api_name":"AddAlarm","parameters":{"time":"01:40:00","session_token":"0f0f0f0f-1111-2222"}},"response":{"alarm_id":"20d0-d9ca"},"exception":null}]}]}');
INSERT INTO "sources" VALUES('2f1ac5585fb308d47ddc3ac64b6fcd8208c3dcdb2ea767e769cd44aff878a4b7','{"name":"talk02","conversation_id":"talk02","suites_used":["Alarm","Reminder","Messages","AccountTools"],"apis_used":["AddAlarm"],"user":{"username":"mara","session_token":"0f0f0f0f-1111-2222"},"metadata":{"location":"Springfield","timestamp":"2024-03-05 09:00:00","username":"mara"},"conversation":[{"index":0,"role":"user","text":"Wake me at 2."},{"index":1,"role":"assistant","text":"Done.","apis":[{"request":{"api_name":"AddAlarm","parameters":{"time":"02:10:00","session_token":"0f0f0f0f-1111-2222"}},"response":{"alarm_id":"5bff-dd80"},"exception":null}]},{"index":2,"role":"user","text":"And half an hour later."},{"index":3,"role":"assistant","text":"Done, too.","apis":[{"request":{"api_name":"AddAlarm","parameters":{"time":"02:40:00","session_token":"0f0f0f0f-1111-2222"}},"response":{"alarm_id":"20d0-d9ca"},"exception":null}]}]}');
INSERT INTO "sources" VALUES('6b6d8b06b9aa86077d4d77461a74672f980c2398ff779ade60a91773a6b6d129','{"name":"talk03","conversation_id":"talk03","suites_used":["Alarm","Reminder","Messages","AccountTools"],"apis_used":["AddAlarm"],"user":{"username":"mara","session_token":"0f0f0f0f-1111-2222"},"metadata":{"location":"Springfield","timestamp":"2024-03-05 09:00:00","username":"mara"},"conversation":[{"index":0,"role":"user","text":"Wake me at 3."},{"index":1,"role":"assistant","text":"Done.","apis":[{"request":{"api_name":"AddAlarm","parameters":{"time":"03:10:00","session_token":"0f0f0f0f-1111-2222"}},"response":{"alarm_id":"5bff-dd80"},"exception":null}]},{"index":2,"role":"user","text":"And half an hour later."},{"index":3,"role":"assistant","text":"Done, too.","apis":[{"request":{"api_name":"AddAlarm","parameters":{"time":"03:40:00","session_token":"0f0f0f0f-1111-2222"}},"response":{"alarm_id":"20d0-d9ca"},"exception":null}]}]}');
INSERT INTO "sources" VALUES('2029118fc55b8ff97cb24ea7850d76b845b3c7ee8246fd4b2c898e6642655eff','{"name":"AddAlarm-easy","conversation_id":"0d9b3cb0-25dd-453d-8bac-55b1ab475c29","suites_used":["Alarm"],"apis_used":["AddAlarm"],"scenario":"A cafe owner has to be up early and sets an alarm.","user":{"username":"mei_lin_t","email":"meilin.tan@kopiandco.example","phone":"658-555-0161","name":"Mei-Lin Tan","password":"orchidRoad18","session_token":"4f1c9b27-a3e6-58d0"},"metadata":{"location":"Singapore","timestamp":"2025-12-30 21:10:00","session_token":"4f1c9b27-a3e6-58d0","username":"mei_lin_t"},"conversation":[{"index":0,"role":"user","text":"i need to get up early tomorrow"},{"index":1,"role":"assistant","text":"What time should the alarm go off?","tags":["ask"]},{"index":2,"role":"user","text":"ten to five, sadly"},{"index":3,"role":"assistant","text":"Your alarm is set for 4:50 in the morning.","apis":[{"request":{"api_name":"AddAlarm","parameters":{"session_token":"4f1c9b27-a3e6-58d0","time":"04:50:00"}},"response":{"alarm_id":"5bff-dd80"},"exception":null}]},{"index":4,"role":"user","text":"thanks, good night"}]}');
INSERT INTO "sources" VALUES('55555bf7adf58b0ada46c1f20db9fd924705aa658f247e25cb6621826a6f2ca3','{"name":"AddReminder-easy","conversation_id":"911c4e42-a7c0-4b62-9138-c597ab3b66f2","suites_used":["Reminder"],"apis_used":["AddReminder"],"scenario":"A nurse wants to be reminded of a bill.","user":{"username":"fatima_y","email":"fatima.yusuf@brightpost.example","phone":"647-555-0109","name":"Fatima Yusuf","password":"nightshift7am","session_token":"4f1c9b27-a3e6-58d0"},"metadata":{"location":"Toronto","timestamp":"2025-04-12 13:20:00","session_token":"4f1c9b27-a3e6-58d0","username":"fatima_y"},"conversation":[{"index":0,"role":"user","text":"can you remind me to pay the hydro bill"},{"index":1,"role":"assistant","text":"Sure. When should I remind you?","tags":["ask"]},{"index":2,"role":"user","text":"on friday the 18th, noon is good","dates":{"friday the 18th":"2025-04-18"}},{"index":3,"role":"assistant","text":"I''ll remind you to pay the hydro bill on Friday, April 18, at noon.","apis":[{"request":{"api_name":"AddReminder","parameters":{"session_token":"4f1c9b27-a3e6-58d0","task":"Pay the hydro bill","due_date":"2025-04-18 12:00:00"}},"response":{"reminder_id":"5b-dd80"},"exception":null}]},{"index":4,"role":"user","text":"ty"}]}');
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
INSERT INTO "turns" VALUES(1,1,1,0,1,'2026-11-22T06:22:18.432+00:00',NULL,1.58404060002794722095e-02,5.24990000030811643227e-03,1.70243000866321381181e-04);
INSERT INTO "turns" VALUES(2,1,1,0,3,'2026-11-22T06:22:18.435+00:00',NULL,2.99544000881724059581e-04,7.53909998820745386183e-05,0.0);
INSERT INTO "turns" VALUES(3,1,2,0,1,'2026-11-22T06:22:18.447+00:00',NULL,1.10730320002403459511e-02,1.05620820004332927055e-02,1.04084000668080989271e-04);
INSERT INTO "turns" VALUES(4,1,2,0,3,'2026-11-22T06:22:18.536+00:00',NULL,2.29901000238896813243e-04,6.82620002407929860055e-05,0.0);
INSERT INTO "turns" VALUES(5,1,3,0,1,'2026-11-22T06:22:18.543+00:00',NULL,2.63540099967940477654e-03,2.13634100055060116574e-03,9.57120000748545862734e-05);
INSERT INTO "turns" VALUES(6,1,3,0,3,'2026-11-22T06:22:18.555+00:00',NULL,7.98613099959766259416e-03,7.55552300051931524649e-03,1.90923000445764046162e-04);
INSERT INTO "turns" VALUES(7,1,4,0,1,'2026-11-22T06:22:18.567+00:00',NULL,8.21814499977335799485e-03,7.50875199992151465266e-03,0.000197493000086979);
INSERT INTO "turns" VALUES(8,1,4,0,3,'2026-11-22T06:22:18.572+00:00',NULL,1.04003299929900094866e-03,6.26860000011220108717e-04,1.09722999695804901421e-04);
INSERT INTO "turns" VALUES(9,2,1,0,1,'2026-11-22T06:22:18.595+00:00',NULL,6.90500600012455834075e-03,6.56477100073971087113e-03,9.15860000532120466232e-05);
INSERT INTO "turns" VALUES(10,2,1,0,3,'2026-11-22T06:22:18.614+00:00',NULL,1.72129830007179407402e-02,1.67566860000079032033e-02,1.90232999557338189333e-04);
INSERT INTO "turns" VALUES(11,2,2,0,1,'2026-11-22T06:22:18.640+00:00',NULL,2.37545800000589224509e-02,2.29723899992677615955e-02,1.76221999936387874186e-04);
INSERT INTO "turns" VALUES(12,2,2,0,3,'2026-11-22T06:22:18.658+00:00',NULL,9.89265000043815234676e-03,1.00659399959113216027e-03,8.35192400063533568754e-03);
INSERT INTO "turns" VALUES(13,2,3,0,1,'2026-11-22T06:22:18.672+00:00',NULL,1.14831299997604219242e-02,2.67980599983275169506e-03,9.97879997157724574208e-05);
INSERT INTO "turns" VALUES(14,2,3,0,3,'2026-11-22T06:22:18.675+00:00',NULL,1.01022899980307556688e-03,6.80910999108164105564e-04,9.7764999736682511866e-05);
INSERT INTO "turns" VALUES(15,2,4,0,1,'2026-11-22T06:22:18.697+00:00',NULL,3.07499300015479093417e-03,2.4721290001252782531e-03,1.09712000266881659626e-04);
INSERT INTO "turns" VALUES(16,2,4,0,3,'2026-11-22T06:22:18.700+00:00',NULL,1.26905300021462608128e-03,8.40306001009594183415e-04,1.25786999888077843934e-04);
INSERT INTO "turns" VALUES(17,3,5,0,1,'2026-11-22T06:22:21.217+00:00',NULL,2.09842399999615736305e-03,1.88606899973819963634e-03,0.0);
INSERT INTO "turns" VALUES(18,3,5,0,3,'2026-11-22T06:22:21.219+00:00',NULL,8.62480000250798184424e-04,5.70584999877610243856e-04,7.08150000718887895345e-05);
INSERT INTO "turns" VALUES(19,3,6,0,1,'2026-11-22T06:22:21.231+00:00',NULL,2.08322199978283606469e-03,1.71974200020486023277e-03,0.0);
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
CREATE UNIQUE INDEX "idx__sqlite_migrations_migration_set_name"
    ON "_sqlite_migrations" ("migration_set", "name");
CREATE INDEX conversations_source ON conversations(source);
CREATE INDEX turns_conversation ON turns(conversation);
CREATE INDEX scores_conversation ON scores(conversation);
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
CREATE VIEW arm_settings AS
SELECT runs.id AS run, runs.name AS name, arms.name AS arm, setting.key AS setting,
    CASE WHEN setting.type IN ('true', 'false') THEN setting.type ELSE setting.value END AS value
FROM arms
JOIN runs ON runs.id = arms.run
JOIN json_each(arms.fingerprint) AS setting;
CREATE VIEW conversation_scores AS
SELECT 
    runs.id AS run, runs.name AS name, arms.name AS arm, conversations.name AS conversation,
    conversations.suite
, scores.repeat, scores.successes AS success, scores.soft_successes AS soft_success,
    1.0 * scores.matches / nullif(scores.ground_truths, 0) AS recall,
    1.0 * scores.matches / nullif(scores.predictions, 0) AS "precision",
    1.0 * scores.bad_actions / nullif(scores.actions, 0) AS incorrect_action_rate,
    scores.ground_truths, scores.predictions, scores.matches, scores.actions, scores.valid_actions,
    scores.bad_actions, scores.grader, scores.grader_version, scores.similarity, 
    scores.id = (
        SELECT min(first.id) FROM scores AS first
        WHERE first.arm = scores.arm AND first.conversation = scores.conversation
            AND first.repeat = scores.repeat
    )
 AS own
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
SELECT 
    runs.id AS run, runs.name AS name, arms.name AS arm, conversations.name AS conversation,
    conversations.suite
, turns.repeat, turns.turn, due.wanted, coalesce(judged.n, 0) AS matched,
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
SELECT 
    runs.id AS run, runs.name AS name, arms.name AS arm, conversations.name AS conversation,
    conversations.suite
, turns.repeat, turns.turn, predictions.step, predictions.kind, predictions.tool,
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
CREATE VIEW salvaged AS
SELECT runs.id AS run, arms.name AS arm, predictions.salvage, predictions.kind, count(*) AS predictions
FROM predictions
JOIN turns ON turns.id = predictions.turn
JOIN arms ON arms.id = turns.arm
JOIN runs ON runs.id = arms.run
WHERE predictions.salvage <> ''
GROUP BY arms.id, predictions.salvage, predictions.kind;
CREATE VIEW mine AS SELECT sum(successes) AS successes FROM scores;
COMMIT;
