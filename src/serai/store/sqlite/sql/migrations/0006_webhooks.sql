-- Where events are posted, and which actions were asked for.

CREATE TABLE webhooks (
    number INTEGER PRIMARY KEY,
    delivered_until TEXT NOT NULL,  -- the id of the last event that was taken, or passed over
    webhook BLOB NOT NULL           -- JSON, with the secret that signs
) STRICT;

-- An invocation's id is the caller's own mark against asking twice.
CREATE TABLE invocations (
    caller INTEGER NOT NULL,
    id TEXT NOT NULL,
    open INTEGER NOT NULL,          -- 1 until its outcome is known
    invocation BLOB NOT NULL,       -- JSON: what was asked for, and the outcome
    PRIMARY KEY (caller, id)
) STRICT, WITHOUT ROWID;
CREATE INDEX invocations_open ON invocations (caller) WHERE open;

-- With the sender, so that what is unread is counted from the index alone.
DROP INDEX messages_of_room;
CREATE INDEX messages_of_room ON messages (room, seq, sender);
