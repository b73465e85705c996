-- A campaign's database as schema 2 has it. Once that is released, this file never changes.
PRAGMA foreign_keys=OFF;
BEGIN TRANSACTION;
CREATE TABLE calls (
    id INTEGER PRIMARY KEY,
    proposal INTEGER NOT NULL,
    model TEXT NOT NULL,
    operator TEXT NOT NULL,
    prompt_tokens INTEGER NOT NULL,
    completion_tokens INTEGER NOT NULL,
    usd REAL,
    seconds REAL NOT NULL,
    error TEXT,
    prompt TEXT NOT NULL,
    reply TEXT NOT NULL
, state TEXT NOT NULL DEFAULT 'answered', attempt INTEGER NOT NULL DEFAULT 0, stage TEXT NOT NULL DEFAULT 'propose', template TEXT NOT NULL DEFAULT '', finish_reason TEXT NOT NULL DEFAULT '', cached_tokens INTEGER NOT NULL DEFAULT 0) STRICT;
INSERT INTO "calls" VALUES(1,1,'some/model','edit',100,20,0.001,3.5,NULL,'prompt','reply','answered',0,'propose','','',0);
INSERT INTO "calls" VALUES(2,1,'some/model','edit',0,0,NULL,0.0,'429','','','failed',0,'propose','','',0);
CREATE TABLE candidates (
    id TEXT NOT NULL UNIQUE,
    "commit" TEXT NOT NULL,
    number INTEGER PRIMARY KEY,
    parents TEXT NOT NULL CHECK (json_valid(parents)),
    proposal INTEGER NOT NULL,
    operator TEXT NOT NULL,
    summary TEXT NOT NULL,
    rebased_from TEXT,
    measures TEXT NOT NULL CHECK (json_valid(measures)),
    changed TEXT NOT NULL CHECK (json_valid(changed))
) STRICT;
INSERT INTO "candidates" VALUES('fe18920df6f891383a8bf956a81901edab7b8eab','686780cab026a3d61fc1ba4c33dd7a1ff49274e7',0,'[]',0,'base','candidate 0',NULL,'{}','[]');
INSERT INTO "candidates" VALUES('9a1df97879a25ff71c9c74d7a7d085c9d485357c','cccccccccccccccccccccccccccccccccccccccc',1,'["fe18920df6f891383a8bf956a81901edab7b8eab","fe18920df6f891383a8bf956a81901edab7b8eab"]',1,'crossover','Join two layouts – ä, 円','fe18920df6f891383a8bf956a81901edab7b8eab','{"lines":120,"distance":3.5,"kind":"grid"}','["packing.py","Ordner/ä.py"]');
CREATE TABLE champions (
    version INTEGER PRIMARY KEY,
    candidate TEXT NOT NULL REFERENCES candidates (id),
    decision INTEGER REFERENCES decisions (id)
) STRICT;
INSERT INTO "champions" VALUES(0,'fe18920df6f891383a8bf956a81901edab7b8eab',NULL);
INSERT INTO "champions" VALUES(1,'9a1df97879a25ff71c9c74d7a7d085c9d485357c',1);
CREATE TABLE decisions (
    id INTEGER PRIMARY KEY,
    challenger TEXT NOT NULL REFERENCES candidates (id),
    champion TEXT NOT NULL REFERENCES candidates (id),
    proposal INTEGER NOT NULL,
    promoted INTEGER NOT NULL CHECK (promoted IN (0, 1)),
    rule TEXT NOT NULL,
    reason TEXT NOT NULL,
    evidence TEXT NOT NULL CHECK (json_valid(evidence))
) STRICT;
INSERT INTO "decisions" VALUES(1,'9a1df97879a25ff71c9c74d7a7d085c9d485357c','fe18920df6f891383a8bf956a81901edab7b8eab',1,1,'strict','better on 2 of 2','{"gain":0.25}');
CREATE TABLE evaluations (
    id INTEGER PRIMARY KEY,
    candidate TEXT NOT NULL REFERENCES candidates (id),
    proposal INTEGER NOT NULL,
    verdict TEXT NOT NULL,
    stage TEXT NOT NULL,
    split TEXT NOT NULL,
    purpose TEXT NOT NULL,
    seed INTEGER NOT NULL,
    evaluator INTEGER NOT NULL,
    score REAL,
    seconds REAL NOT NULL,
    cpu_seconds REAL NOT NULL,
    attempts INTEGER NOT NULL,
    counted INTEGER NOT NULL CHECK (counted IN (0, 1)),
    reason TEXT,
    metrics TEXT NOT NULL CHECK (json_valid(metrics)),
    measures TEXT NOT NULL CHECK (json_valid(measures)),
    cases TEXT NOT NULL CHECK (json_valid(cases)),
    feedback TEXT NOT NULL,
    artifacts TEXT NOT NULL CHECK (json_valid(artifacts))
, part INTEGER) STRICT;
INSERT INTO "evaluations" VALUES(1,'fe18920df6f891383a8bf956a81901edab7b8eab',0,'judged','full','search','baseline',0,1,1.0,0.0,0.0,1,1,NULL,'{}','{}','[]','','{}',NULL);
INSERT INTO "evaluations" VALUES(2,'9a1df97879a25ff71c9c74d7a7d085c9d485357c',1,'judged','full','holdout','gate',7,1,2.5,1.5,1.25,2,0,NULL,'{"ms":12.1}','{"depth":4}','[{"name":"q1","score":1.0},{"name":"q2","score":0.0,"feedback":"expected 3 rows"}]','close','{"profile.txt":"…"}',NULL);
INSERT INTO "evaluations" VALUES(3,'9a1df97879a25ff71c9c74d7a7d085c9d485357c',1,'failed','full','search','search',0,1,NULL,0.0,0.0,1,1,'exit 1','{}','{}','[]','','{}',NULL);
CREATE TABLE events (
    id INTEGER PRIMARY KEY,
    time REAL NOT NULL,
    kind TEXT NOT NULL,
    text TEXT NOT NULL,
    data TEXT NOT NULL CHECK (json_valid(data))
) STRICT;
INSERT INTO "events" VALUES(1,1700000000.5,'started','The campaign begins','{"pid":1}');
INSERT INTO "events" VALUES(2,1700000009.0,'promoted','A new champion','{}');
CREATE TABLE lessons (
    id INTEGER PRIMARY KEY,
    claim TEXT NOT NULL,
    scope TEXT NOT NULL,
    state TEXT NOT NULL,
    model TEXT NOT NULL,
    made INTEGER NOT NULL,
    supports TEXT NOT NULL CHECK (json_valid(supports)),
    contradicts TEXT NOT NULL CHECK (json_valid(contradicts)),
    sources TEXT NOT NULL CHECK (json_valid(sources))
) STRICT;
INSERT INTO "lessons" VALUES(1,'Grids waste the border','packing.py','pinned','some/model',1,'[2]','[3]','[1]');
CREATE TABLE prompts (id TEXT PRIMARY KEY, messages BLOB NOT NULL) STRICT;
CREATE TABLE proposals (
    number INTEGER PRIMARY KEY,
    operator TEXT NOT NULL,
    parent TEXT NOT NULL,
    basis TEXT NOT NULL CHECK (json_valid(basis)),
    policy TEXT NOT NULL,
    partner TEXT,
    inspirations TEXT NOT NULL CHECK (json_valid(inspirations)),
    state TEXT NOT NULL,
    outcome TEXT,
    candidate TEXT,
    reason TEXT,
    summary TEXT NOT NULL,
    rationale TEXT NOT NULL,
    payload TEXT NOT NULL CHECK (json_valid(payload)),
    model TEXT,
    gain REAL,
    reward REAL,
    admitted INTEGER,
    stale TEXT
, lessons TEXT CHECK (lessons IS NULL OR json_valid(lessons))) STRICT;
INSERT INTO "proposals" VALUES(1,'crossover','fe18920df6f891383a8bf956a81901edab7b8eab','{"champion":0,"archive":3,"lessons":2,"evaluator":1}','qd','fe18920df6f891383a8bf956a81901edab7b8eab','["fe18920df6f891383a8bf956a81901edab7b8eab"]','done','candidate','9a1df97879a25ff71c9c74d7a7d085c9d485357c','because','Join two layouts','Both
halves.','{"x":[0.1,2,null],"nested":{"deep":true}}','some/model',0.25,1.0,1,'updated',NULL);
CREATE TABLE settings (
    name TEXT PRIMARY KEY,
    value TEXT NOT NULL CHECK (json_valid(value))
) STRICT, WITHOUT ROWID;
INSERT INTO "settings" VALUES('config','{"goal":"pack 26 circles","seed":0,"include":["packing.py"]}');
INSERT INTO "settings" VALUES('state','"running"');
CREATE INDEX "idx_candidates_commit"
    ON "candidates" ("commit");
CREATE INDEX "idx_proposals_state"
    ON "proposals" ("state");
CREATE INDEX "idx_proposals_outcome"
    ON "proposals" ("outcome");
CREATE INDEX "idx_proposals_candidate"
    ON "proposals" ("candidate");
CREATE INDEX "idx_proposals_stale"
    ON "proposals" ("stale");
CREATE INDEX "idx_evaluations_candidate"
    ON "evaluations" ("candidate");
CREATE INDEX "idx_evaluations_split_purpose"
    ON "evaluations" ("split", "purpose");
CREATE INDEX "idx_evaluations_verdict_counted"
    ON "evaluations" ("verdict", "counted");
CREATE INDEX "idx_evaluations_score"
    ON "evaluations" ("score");
CREATE INDEX "idx_evaluations_stage_part_verdict_seconds"
    ON "evaluations" ("stage", "part", "verdict", "seconds");
CREATE VIEW "case_scores" AS 
SELECT evaluations.id AS evaluation, candidate, stage, split, purpose,
       json_extract(entry.value, '$.name') AS "case",
       json_extract(entry.value, '$.score') AS score,
       json_extract(entry.value, '$.feedback') AS feedback
FROM evaluations, json_each(evaluations.cases) AS entry
WHERE part IS NULL;
CREATE INDEX idx_calls_proposal ON calls (proposal);
CREATE INDEX idx_calls_started ON calls (id) WHERE state = 'started';
CREATE INDEX idx_calls_costs ON calls (model, operator, stage, state, prompt_tokens, completion_tokens, cached_tokens, usd, seconds);
CREATE INDEX "idx_proposals_parent_state"
    ON "proposals" ("parent", "state");
CREATE INDEX idx_candidates_rebased ON candidates (id, rebased_from) WHERE rebased_from IS NOT NULL;
PRAGMA application_id = 1163284300;
PRAGMA user_version = 2;
COMMIT;
