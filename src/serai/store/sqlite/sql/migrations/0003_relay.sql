-- The relay: who takes part, what was said, and what became of it. Numbers are the journal's.

-- Who takes part. An identity outlives its sessions.
CREATE TABLE identities (
    number INTEGER PRIMARY KEY,
    id TEXT NOT NULL UNIQUE,
    name_key TEXT NOT NULL UNIQUE,  -- the name as names are compared
    session TEXT,                   -- the session of this host that has it now
    gone INTEGER NOT NULL DEFAULT 0,
    identity BLOB NOT NULL          -- JSON, with what the session declares
) STRICT;

-- Rooms, direct and group conversations.
CREATE TABLE rooms (
    number INTEGER PRIMARY KEY,
    key TEXT NOT NULL UNIQUE,       -- '#ops', or 'dm:3,9', or 'group:3,9,12'
    room BLOB NOT NULL              -- JSON
) STRICT;

CREATE TABLE members (
    room INTEGER NOT NULL,
    identity INTEGER NOT NULL,
    muted INTEGER NOT NULL DEFAULT 0,
    read_until INTEGER NOT NULL DEFAULT 0,  -- the last message that this member has read
    PRIMARY KEY (room, identity)
) STRICT, WITHOUT ROWID;

CREATE TABLE messages (
    seq INTEGER PRIMARY KEY,
    id TEXT NOT NULL UNIQUE,        -- ids are in the order of time, so the index grows at its end
    room INTEGER NOT NULL,
    thread INTEGER,                 -- the message that began its thread
    sender INTEGER NOT NULL,
    key TEXT,                       -- the sender's own mark against sending twice
    retracted INTEGER NOT NULL DEFAULT 0,
    message BLOB NOT NULL           -- JSON
) STRICT;
CREATE INDEX messages_of_room ON messages (room, seq);
CREATE INDEX messages_of_thread ON messages (thread, seq) WHERE thread IS NOT NULL;
CREATE UNIQUE INDEX messages_by_key ON messages (sender, key) WHERE key IS NOT NULL;

CREATE TABLE mentions (
    identity INTEGER NOT NULL,
    message INTEGER NOT NULL,
    PRIMARY KEY (identity, message)
) STRICT, WITHOUT ROWID;

CREATE TABLE reactions (
    message INTEGER NOT NULL,
    emoji TEXT NOT NULL,
    identity INTEGER NOT NULL,
    at INTEGER NOT NULL,
    PRIMARY KEY (message, emoji, identity)
) STRICT, WITHOUT ROWID;

-- Everything that enters a session, whoever sent it. The number is that of `delivery.created`.
CREATE TABLE deliveries (
    seq INTEGER PRIMARY KEY,
    id TEXT NOT NULL UNIQUE,
    message TEXT,                   -- the message's id; none for what entered over AHP
    agent INTEGER NOT NULL,
    open INTEGER NOT NULL,          -- 1 until it is delivered, or has failed for good
    state TEXT NOT NULL,
    waits TEXT NOT NULL,            -- what it waits for: 'idle', 'approval', …; empty for nothing
    urgent INTEGER NOT NULL,
    due INTEGER,                    -- the next moment that matters, in milliseconds since 1970
    record BLOB NOT NULL            -- JSON
) STRICT;
CREATE INDEX deliveries_of_message ON deliveries (message) WHERE message IS NOT NULL;
-- Both cost nothing once a delivery is final.
CREATE INDEX deliveries_open ON deliveries (agent, urgent DESC, seq) WHERE open;
CREATE INDEX deliveries_due ON deliveries (due) WHERE due IS NOT NULL;

CREATE TABLE tokens (
    digest TEXT PRIMARY KEY,
    token BLOB NOT NULL,            -- JSON: whose it is, and what it may do
    revoked INTEGER NOT NULL DEFAULT 0
) STRICT, WITHOUT ROWID;

-- Words of messages and completed turns. The rowid is 2 * the message's number, or 2 * that of the turn's row + 1.
CREATE VIRTUAL TABLE words USING fts5(text, content='', contentless_delete=1, tokenize='unicode61');
CREATE TABLE indexed (
    id INTEGER PRIMARY KEY CHECK (id = 1),
    messages INTEGER NOT NULL,      -- messages up to this number are in `words`
    turns INTEGER NOT NULL          -- rows of turns up to this one
) STRICT;
INSERT INTO indexed (id, messages, turns) VALUES (1, 0, 0);
