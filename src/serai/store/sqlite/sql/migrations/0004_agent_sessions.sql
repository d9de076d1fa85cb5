-- Agent sessions: what a model and a person have said to each other, what was done, and what it has cost.

CREATE TABLE agent_sessions (
    uri TEXT PRIMARY KEY,
    spent INTEGER NOT NULL DEFAULT 0,       -- microcents, with what is reserved for requests under way
    unpriced INTEGER NOT NULL DEFAULT 0,    -- requests whose price nobody knows
    record BLOB NOT NULL                    -- JSON: the agent as it was at the start, and the context
) STRICT, WITHOUT ROWID;

-- The transcript. Rows are added, and never changed.
CREATE TABLE session_messages (
    session TEXT NOT NULL REFERENCES agent_sessions (uri),
    number INTEGER NOT NULL,
    turn TEXT NOT NULL,                     -- the turn that it belongs to: a truncated one is not seen any more
    id TEXT NOT NULL,
    role TEXT NOT NULL,
    model_id TEXT,
    at INTEGER NOT NULL,                    -- milliseconds since 1970
    content BLOB NOT NULL,                  -- JSON: durable content parts
    PRIMARY KEY (session, number)
) STRICT, WITHOUT ROWID;

-- The records of turns, by which one goes on after a crash.
CREATE TABLE turn_steps (
    session TEXT NOT NULL,
    turn TEXT NOT NULL,
    number INTEGER NOT NULL,
    step BLOB NOT NULL,                     -- JSON
    PRIMARY KEY (session, turn, number)
) STRICT, WITHOUT ROWID;
