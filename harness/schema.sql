-- The store: one SQLite file (WAL) a workspace. Rows are appended, never overwritten. Reports read the v_ views only.
PRAGMA user_version = 1;

CREATE TABLE IF NOT EXISTS run (
    id TEXT PRIMARY KEY,              -- 12 hex digits
    started TEXT NOT NULL,            -- ISO 8601, UTC
    finished TEXT,                    -- NULL: interrupted
    suite TEXT NOT NULL,
    command TEXT NOT NULL,            -- the command line that repeats it
    seed INTEGER NOT NULL,
    jobs INTEGER NOT NULL,
    exit_code INTEGER,
    tokassay TEXT NOT NULL,           -- version
    environment TEXT NOT NULL         -- JSON: python, platform, cpu, cpu_features, cores, memory, packages
);

CREATE TABLE IF NOT EXISTS contract (
    digest TEXT PRIMARY KEY,          -- 16 hex digits, core and variants
    core TEXT NOT NULL,               -- 16 hex digits, core alone
    name TEXT NOT NULL,               -- as asked for: gpt2, ./tokenizer.json
    body TEXT NOT NULL                -- canonical JSON
);

CREATE TABLE IF NOT EXISTS build (
    digest TEXT PRIMARY KEY,          -- 16 hex digits over everything below
    engine TEXT NOT NULL,
    version TEXT NOT NULL,            -- as the engine says in its own process
    requirement TEXT NOT NULL,
    lock TEXT NOT NULL,               -- SHA-256 of the environment's lock, or of the installed distributions
    adapter TEXT NOT NULL,            -- SHA-256 of the adapter
    host TEXT NOT NULL,               -- SHA-256 of host.py
    python TEXT NOT NULL,
    platform TEXT NOT NULL,           -- with the CPU's features
    limits TEXT NOT NULL              -- JSON
);

CREATE TABLE IF NOT EXISTS corpus (
    run TEXT NOT NULL REFERENCES run(id),
    name TEXT NOT NULL,
    spec TEXT NOT NULL,
    seed INTEGER NOT NULL,
    documents INTEGER NOT NULL,
    bytes INTEGER NOT NULL,
    problems TEXT NOT NULL,           -- JSON: reason -> count and first places
    PRIMARY KEY (run, name)
);

CREATE TABLE IF NOT EXISTS result (
    id INTEGER PRIMARY KEY,
    key TEXT NOT NULL,                -- 32 hex digits: contract, operation, entry point, build, oracle and tables, block, modifiers
    run TEXT NOT NULL REFERENCES run(id), -- the run that measured it
    contract TEXT NOT NULL REFERENCES contract(digest),
    operation TEXT NOT NULL,
    entry_point TEXT NOT NULL,
    build TEXT NOT NULL REFERENCES build(digest),
    oracle TEXT NOT NULL,             -- digest of the oracle's sources and tables; '' for an engine compared with engines only
    block TEXT NOT NULL,              -- SHA-256 of the block's documents and their borders
    modifiers TEXT NOT NULL,          -- JSON: threads, specials, ...
    digest TEXT NOT NULL,             -- block digest of the timed output, hex; '' when there is none
    expected TEXT NOT NULL,           -- block digest it was held to; '' when there is none
    ids INTEGER NOT NULL,
    ns INTEGER NOT NULL,              -- wall time of the timed call
    cpu_ns INTEGER NOT NULL,
    host_ns INTEGER NOT NULL,         -- the host's time outside the timed call: preparing and hashing
    hash_ns INTEGER NOT NULL,         -- of which hashing ids
    verdicts TEXT NOT NULL,           -- JSON: verdict -> number of documents; adds up to the block's documents
    rows TEXT NOT NULL                -- JSON: [[index, verdict, detail], ...] for documents that are not match
);
CREATE INDEX IF NOT EXISTS result_key ON result(key);

CREATE TABLE IF NOT EXISTS oracle_block (
    key TEXT PRIMARY KEY,             -- contract, oracle and tables, operation, block
    digest TEXT NOT NULL,
    ids INTEGER NOT NULL,
    ns INTEGER NOT NULL,
    leaves BLOB NOT NULL              -- 32-byte leaves; empty for neutral blocks
);

CREATE TABLE IF NOT EXISTS run_result (   -- which results a run is made of: measured by it or reused
    run TEXT NOT NULL REFERENCES run(id),
    corpus TEXT NOT NULL,
    domain TEXT NOT NULL,             -- neutral | unicode | bytes
    ordinal INTEGER NOT NULL,         -- of the block in its corpus and domain
    documents INTEGER NOT NULL,
    bytes INTEGER NOT NULL,
    engine TEXT NOT NULL,
    result INTEGER NOT NULL REFERENCES result(id),
    reused INTEGER NOT NULL
);
CREATE INDEX IF NOT EXISTS run_result_run ON run_result(run);

CREATE TABLE IF NOT EXISTS divergence (
    run TEXT NOT NULL REFERENCES run(id),
    ordinal INTEGER NOT NULL,
    signature TEXT NOT NULL,          -- what makes it one: contract, engines, verdict, stage, decision kinds, classes
    verdict TEXT NOT NULL,            -- differ | declared | flaky | crash | error | timeout | oom
    contract TEXT NOT NULL,           -- contract name
    engine TEXT NOT NULL,
    against TEXT NOT NULL,            -- oracle, or the engine compared with
    operation TEXT NOT NULL,
    corpus TEXT NOT NULL,
    domain TEXT NOT NULL,
    documents INTEGER NOT NULL,       -- how many documents show it
    first TEXT NOT NULL,              -- name of the document shown: the shortest that is traced
    input TEXT NOT NULL,              -- hex of a window of the document that shows it (at most 256 bytes), or of its head
    token INTEGER,                    -- index of the first differing token
    got TEXT NOT NULL,                -- JSON list of ids around it
    expected TEXT NOT NULL,
    stage TEXT NOT NULL,              -- special normalize scan classify pretokenize merge lookup, id map, decode offsets process
    explanation TEXT NOT NULL,        -- one sentence made from the first differing decision
    command TEXT NOT NULL,            -- reproduces it
    PRIMARY KEY (run, ordinal)
);

CREATE TABLE IF NOT EXISTS reduction (   -- of a divergence: the document it started from, and the smallest that shows the same
    run TEXT NOT NULL REFERENCES run(id),
    ordinal INTEGER NOT NULL,         -- the divergence's
    outcome TEXT NOT NULL,            -- reduced | agree (it does not show by itself) | flaky | not asked
    "left" TEXT NOT NULL,             -- the two that differ, as the command line names them
    "right" TEXT NOT NULL,
    specials TEXT NOT NULL,           -- off | on
    operation TEXT NOT NULL,
    document BLOB NOT NULL,           -- the whole document
    minimal TEXT NOT NULL,            -- hex; '' unless reduced
    signature TEXT NOT NULL,          -- of the difference that was kept
    stage TEXT NOT NULL,              -- of the first differing decision on the smallest document
    explanation TEXT NOT NULL,
    changes TEXT NOT NULL,            -- JSON list: the single changes of a contract that would explain it, in words
    got TEXT NOT NULL,                -- JSON list of all ids, or what happened instead
    expected TEXT NOT NULL,
    tries INTEGER NOT NULL,
    ns INTEGER NOT NULL,
    complete INTEGER NOT NULL,        -- 1: no pass could make it smaller; 0: the time was up
    command TEXT NOT NULL,            -- shows the smallest document; '' unless reduced
    "like" INTEGER,                   -- ordinal of the divergence that this turned out to be
    PRIMARY KEY (run, ordinal)
);

CREATE TABLE IF NOT EXISTS bench (
    id TEXT PRIMARY KEY,              -- 12 hex digits
    started TEXT NOT NULL,            -- ISO 8601, UTC
    finished TEXT NOT NULL,
    command TEXT NOT NULL,            -- the command line that repeats it
    tokassay TEXT NOT NULL,           -- version
    exit_code INTEGER NOT NULL,
    report TEXT NOT NULL              -- JSON: what `tokassay bench --json` printed (docs/FORMATS.md)
);

CREATE TABLE IF NOT EXISTS proof (   -- that a build passed, or did not, the gate suite by one entry point and in one domain
    key TEXT PRIMARY KEY,             -- build and options, contract, entry point, threads, suite, oracle, corpora, platform
    started TEXT NOT NULL,
    body TEXT NOT NULL                -- JSON: a row of the `proofs` of a bench
);

CREATE TABLE IF NOT EXISTS claim_run (   -- one verdict on one claim
    id TEXT PRIMARY KEY,              -- 12 hex digits
    claim TEXT NOT NULL,              -- the claim's name
    started TEXT NOT NULL,
    finished TEXT NOT NULL,
    verdict TEXT NOT NULL,            -- supported | supported in part | not supported | not verifiable | void
    report TEXT NOT NULL              -- JSON: what `tokassay claim run --json` printed
);

CREATE VIEW IF NOT EXISTS v_run AS SELECT * FROM run;
CREATE VIEW IF NOT EXISTS v_corpus AS SELECT * FROM corpus;
CREATE VIEW IF NOT EXISTS v_divergence AS SELECT * FROM divergence;
CREATE VIEW IF NOT EXISTS v_reduction AS
SELECT run, ordinal, outcome, "left", "right", specials, operation, length(document) AS bytes, minimal, signature, stage,
       explanation, changes, got, expected, tries, ns, complete, command, "like"
FROM reduction;

-- one row a block: what a report adds up
CREATE VIEW IF NOT EXISTS v_cell AS
SELECT rr.run, rr.corpus, rr.domain, rr.ordinal, rr.documents, rr.bytes, rr.engine, rr.reused,
       r.operation, r.entry_point, r.modifiers, r.digest, r.expected, r.ids, r.ns, r.cpu_ns, r.host_ns, r.hash_ns, r.verdicts,
       c.name AS contract_name, c.core, c.digest AS contract, c.body AS contract_body,
       b.version, b.requirement, b.platform, b.python, b.limits
FROM run_result rr JOIN result r ON r.id = rr.result JOIN contract c ON c.digest = r.contract JOIN build b ON b.digest = r.build;

-- why an engine took no part in an operation, or in a document
CREATE VIEW IF NOT EXISTS v_reason AS
SELECT rr.run, rr.engine, c.name AS contract_name, r.operation, json_extract(j.value, '$[1]') AS verdict,
       json_extract(j.value, '$[2]') AS reason, COUNT(*) AS blocks
FROM run_result rr JOIN result r ON r.id = rr.result JOIN contract c ON c.digest = r.contract, json_each(r.rows) j
WHERE json_extract(j.value, '$[0]') = -1 OR json_extract(j.value, '$[1]') = 'unsupported'
GROUP BY rr.run, rr.engine, c.name, r.operation, verdict, reason;

-- why documents of a cell were not served: one row a reason, with how many documents it is for
CREATE VIEW IF NOT EXISTS v_unserved AS
SELECT rr.run, rr.engine, c.name AS contract_name, c.digest AS contract, rr.corpus, r.operation,
       json_extract(j.value, '$[2]') AS reason,
       SUM(CASE json_extract(j.value, '$[0]') WHEN -1 THEN rr.documents ELSE 1 END) AS documents
FROM run_result rr JOIN result r ON r.id = rr.result JOIN contract c ON c.digest = r.contract, json_each(r.rows) j
WHERE json_extract(j.value, '$[1]') = 'unsupported'
GROUP BY rr.run, rr.engine, c.name, c.digest, rr.corpus, r.operation, reason;

-- one row a verdict and cell: SUM(documents) over a run equals engines x documents x operations
CREATE VIEW IF NOT EXISTS v_verdict AS
SELECT v.run, v.corpus, v.domain, v.engine, v.version, v.contract_name, v.contract, v.operation, j.key AS verdict,
       SUM(CAST(j.value AS INTEGER)) AS documents
FROM v_cell v, json_each(v.verdicts) j
GROUP BY v.run, v.corpus, v.domain, v.engine, v.version, v.contract_name, v.contract, v.operation, j.key;

CREATE VIEW IF NOT EXISTS v_bench AS SELECT * FROM bench;
CREATE VIEW IF NOT EXISTS v_claim_run AS SELECT * FROM claim_run;

-- one row an engine, cell and state; times and speeds are NULL unless the verdict is `exact`
CREATE VIEW IF NOT EXISTS v_measurement AS
SELECT b.id AS bench, b.started, json_extract(c.value, '$.vocab') AS vocab, json_extract(c.value, '$.contract') AS contract,
       json_extract(c.value, '$.text') AS text, json_extract(c.value, '$.sha256') AS sha256, json_extract(c.value, '$.domain') AS domain,
       json_extract(c.value, '$.entry') AS entry, json_extract(c.value, '$.state') AS state, json_extract(c.value, '$.threads') AS threads,
       json_extract(c.value, '$.bytes') AS bytes, json_extract(c.value, '$.documents') AS documents, json_extract(c.value, '$.tokens') AS tokens,
       json_extract(c.value, '$.digest') AS digest, json_extract(c.value, '$.reference') AS reference,
       json_extract(e.value, '$.engine') AS engine,
       (SELECT json_extract(a.value, '$.version') FROM json_each(b.report, '$.engines') a
         WHERE json_extract(a.value, '$.engine') = json_extract(e.value, '$.engine')) AS version,
       (SELECT json_extract(a.value, '$.build') FROM json_each(b.report, '$.engines') a
         WHERE json_extract(a.value, '$.engine') = json_extract(e.value, '$.engine')) AS build,
       json_extract(e.value, '$.verdict') AS verdict, json_extract(e.value, '$.detail') AS detail, json_extract(e.value, '$.form') AS form,
       json_extract(e.value, '$.cpu_ns') AS cpu_ns, json_extract(e.value, '$.ns') AS ns,  -- JSON lists, one a round
       json_extract(e.value, '$.peak_bytes') AS peak_bytes, json_extract(e.value, '$.steady_bytes') AS steady_bytes,
       json_extract(e.value, '$.mb_s.median') AS mb_s, json_extract(e.value, '$.mb_s.low') AS mb_s_low,
       json_extract(e.value, '$.mb_s.high') AS mb_s_high, json_extract(e.value, '$.mb_s.mad') AS mb_s_mad
FROM bench b, json_each(b.report, '$.cells') c, json_each(c.value, '$.engines') e;

-- whether a build passed the gate suite of its contract, in one domain and by one entry point
CREATE VIEW IF NOT EXISTS v_proof AS
SELECT b.id AS bench, b.started, json_extract(p.value, '$.engine') AS engine, json_extract(p.value, '$.vocab') AS vocab,
       json_extract(p.value, '$.entry') AS entry, json_extract(p.value, '$.domain') AS domain, json_extract(p.value, '$.passed') AS passed,
       json_extract(p.value, '$.documents') AS documents, json_extract(p.value, '$.failed') AS failed, json_extract(p.value, '$.detail') AS detail,
       json_extract(p.value, '$.command') AS command
FROM bench b, json_each(b.report, '$.proofs') p;
