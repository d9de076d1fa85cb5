-- The first schema. Every table says what it is for; numbers are those that the store gives out.

-- The one row that must be right before anything else is: what has been given out, and what has been located.
CREATE TABLE state (
    id INTEGER PRIMARY KEY CHECK (id = 1),
    ceiling INTEGER NOT NULL,  -- numbers below it may have been given out
    located INTEGER NOT NULL,  -- rows up to this number are in locators; later ones are the tail
    clean INTEGER NOT NULL     -- whether the last host closed the store
) STRICT;

INSERT INTO state (id, ceiling, located, clean) VALUES (1, 1, 0, 1);

-- One row per start.
CREATE TABLE openings (
    id INTEGER PRIMARY KEY,
    last_committed INTEGER NOT NULL,
    first_new INTEGER NOT NULL
) STRICT;

-- Names of channels, so that a row of the journal holds a small number instead.
CREATE TABLE channels (
    id INTEGER PRIMARY KEY AUTOINCREMENT,
    name TEXT NOT NULL UNIQUE
) STRICT;

-- The journal. No index beside the number: one on the channel costs five times the bytes per row.
CREATE TABLE journal (
    seq INTEGER PRIMARY KEY,
    channel INTEGER NOT NULL,
    action BLOB NOT NULL,
    origin BLOB
) STRICT;

-- Where the rows of a channel are: the numbers since its last locator, as differences in variable length.
CREATE TABLE locators (
    channel INTEGER NOT NULL,
    until INTEGER NOT NULL,  -- the last of the numbers
    numbers BLOB NOT NULL,
    PRIMARY KEY (channel, until)
) STRICT, WITHOUT ROWID;

-- What is wide has a rowid: without one, a row of more than a quarter page spills over into pages of its own.
CREATE TABLE sessions (
    uri TEXT PRIMARY KEY,
    summary BLOB NOT NULL,
    modified_at INTEGER NOT NULL,
    epoch INTEGER NOT NULL
) STRICT;

-- Sessions that are no longer listed. Apart from `sessions`, since one may be disposed of before it has a row.
CREATE TABLE disposed (
    uri TEXT PRIMARY KEY
) STRICT, WITHOUT ROWID;

CREATE TABLE heads (
    uri TEXT PRIMARY KEY,
    turns INTEGER NOT NULL,
    seq INTEGER NOT NULL,
    state BLOB NOT NULL
) STRICT;

CREATE TABLE turns (
    uri TEXT NOT NULL,
    ordinal INTEGER NOT NULL,
    truncated INTEGER NOT NULL DEFAULT 0,
    turn_id TEXT NOT NULL,
    turn BLOB NOT NULL,
    PRIMARY KEY (uri, ordinal)
) STRICT;

CREATE TABLE marks (
    client_id TEXT PRIMARY KEY,
    client_seq INTEGER NOT NULL
) STRICT, WITHOUT ROWID;

CREATE TABLE clients (
    client_id TEXT PRIMARY KEY,
    version TEXT NOT NULL,
    token TEXT NOT NULL
) STRICT, WITHOUT ROWID;

CREATE TABLE blobs (
    digest TEXT PRIMARY KEY,
    content_type TEXT NOT NULL,
    data BLOB NOT NULL
) STRICT;

-- Which sessions use a blob. The empty name stands for a use that ends with no session.
CREATE TABLE blob_uses (
    session TEXT NOT NULL,
    digest TEXT NOT NULL,
    PRIMARY KEY (session, digest)
) STRICT, WITHOUT ROWID;
