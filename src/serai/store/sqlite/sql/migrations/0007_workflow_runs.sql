-- Runs of workflows: what was said and done in each step, and what it has cost. Sessions have tables of their own.

CREATE TABLE workflow_runs (
    uri TEXT PRIMARY KEY,
    spent INTEGER NOT NULL DEFAULT 0,       -- microcents, with what is reserved for requests under way
    unpriced INTEGER NOT NULL DEFAULT 0,    -- requests whose price nobody knows
    record BLOB NOT NULL                    -- JSON: the workflow and its agents as they were at the start
) STRICT, WITHOUT ROWID;

-- The records of steps, by which a run goes on after a crash.
CREATE TABLE run_steps (
    run TEXT NOT NULL,
    node TEXT NOT NULL,                     -- the step; empty for the beginning of the run
    number INTEGER NOT NULL,
    step BLOB NOT NULL,                     -- JSON
    PRIMARY KEY (run, node, number)
) STRICT, WITHOUT ROWID;

-- What was said in each step. Rows are added, and never changed.
CREATE TABLE run_messages (
    run TEXT NOT NULL REFERENCES workflow_runs (uri),
    number INTEGER NOT NULL,
    node TEXT NOT NULL,
    id TEXT NOT NULL,
    role TEXT NOT NULL,
    model_id TEXT,
    at INTEGER NOT NULL,                    -- milliseconds since 1970
    content BLOB NOT NULL,                  -- JSON: durable content parts
    PRIMARY KEY (run, number)
) STRICT, WITHOUT ROWID;
