-- Every statement that runs more than once, by name. `-- name --` opens one; the lines after it say why.

-- state --
SELECT ceiling, located, clean FROM state WHERE id = 1

-- last_number --
SELECT coalesce(max(seq), 0) FROM journal

-- last_pruned --
SELECT coalesce(max(pruned), 0) FROM channels

-- last_day --
SELECT coalesce(max(day), 0) FROM days

-- add_day --
INSERT INTO days (day, first_seq) VALUES (?, ?)

-- open_state --
-- Not clean from here on, until the store is closed.
UPDATE state SET ceiling = ?, clean = 0 WHERE id = 1

-- close_state --
-- The ceiling comes down to the first number that was really not given out.
UPDATE state SET ceiling = ?, clean = 1 WHERE id = 1

-- raise_ceiling --
UPDATE state SET ceiling = ? WHERE id = 1

-- set_located --
UPDATE state SET located = ? WHERE id = 1

-- add_opening --
INSERT INTO openings (last_committed, first_new) VALUES (?, ?)

-- openings --
SELECT last_committed, first_new FROM openings ORDER BY id

-- channel_id --
SELECT id FROM channels WHERE name = ?

-- add_channel --
INSERT INTO channels (name) VALUES (?) RETURNING id

-- insert_rows --
-- The writer repeats the values: one statement for many rows.
INSERT INTO journal (seq, channel, action, origin, at) VALUES (?, ?, ?, ?, ?)

-- tail --
-- What no locator lists yet.
SELECT seq, channel FROM journal WHERE seq > ?

-- add_locator --
INSERT INTO locators (channel, until, numbers) VALUES (?, ?, ?)

-- locators --
SELECT numbers FROM locators WHERE channel = ? AND until > ? ORDER BY until

-- rows_by_number --
-- The array comes first, so the rows come in its order; the cross join keeps the planner from turning it.
SELECT j.seq, j.channel, j.action, j.origin FROM carray(?) AS n CROSS JOIN journal AS j ON j.seq = n.value

-- times_by_number --
SELECT j.seq, j.at, j.action FROM carray(?) AS n CROSS JOIN journal AS j ON j.seq = n.value

-- pruned --
SELECT pruned FROM channels WHERE id = ?

-- epoch --
SELECT epoch FROM sessions WHERE uri = ?

-- put_session --
INSERT INTO sessions (uri, summary, modified_at, epoch) VALUES (?, ?, ?, ?)
ON CONFLICT (uri) DO UPDATE SET
    summary = excluded.summary, modified_at = excluded.modified_at, epoch = excluded.epoch

-- dispose_session --
INSERT OR IGNORE INTO disposed (uri) VALUES (?)

-- sessions --
SELECT uri, summary, modified_at, epoch FROM sessions
WHERE uri NOT IN (SELECT uri FROM disposed)
ORDER BY modified_at DESC, uri

-- disposed_sessions --
SELECT uri, summary, modified_at, epoch FROM sessions
WHERE uri IN (SELECT uri FROM disposed)
ORDER BY modified_at DESC, uri

-- put_head --
INSERT INTO heads (uri, state, turns, seq, events) VALUES (?, ?, ?, ?, ?)
ON CONFLICT (uri) DO UPDATE SET
    state = excluded.state, turns = excluded.turns, seq = excluded.seq, events = excluded.events

-- head --
SELECT uri, state, turns, seq, events FROM heads WHERE uri = ?

-- counted --
-- Up to which number a head counts, and how many.
SELECT seq, events FROM heads WHERE uri = ?

-- add_turn --
INSERT INTO turns (uri, ordinal, turn_id, turn) VALUES (?, ?, ?, ?)

-- truncate_turns --
UPDATE turns SET truncated = 1 WHERE uri = ? AND ordinal >= ? AND NOT truncated

-- turns --
-- Newest first, so that a limit keeps the last ones.
SELECT uri, ordinal, turn_id, turn FROM turns
WHERE uri = ? AND ordinal < ? AND NOT truncated
ORDER BY ordinal DESC LIMIT ?

-- put_mark --
INSERT INTO marks (client_id, client_seq) VALUES (?, ?)
ON CONFLICT (client_id) DO UPDATE SET client_seq = excluded.client_seq

-- mark --
SELECT client_seq FROM marks WHERE client_id = ?

-- put_client --
INSERT INTO clients (client_id, version, token) VALUES (?, ?, ?)
ON CONFLICT (client_id) DO UPDATE SET version = excluded.version, token = excluded.token

-- client --
SELECT client_id, version, token FROM clients WHERE client_id = ?

-- add_blob --
INSERT OR IGNORE INTO blobs (digest, content_type, data) VALUES (?, ?, ?)

-- use_blob --
INSERT OR IGNORE INTO blob_uses (session, digest) VALUES (?, ?)

-- blob --
SELECT digest, content_type, data FROM blobs WHERE digest = ?

-- purge_rows --
-- A scan, not the locators: what is erased for good must not depend on an index.
DELETE FROM journal WHERE channel = ?

-- purge_locators --
DELETE FROM locators WHERE channel = ?

-- purge_channel --
DELETE FROM channels WHERE id = ?

-- purge_session --
DELETE FROM sessions WHERE uri = ?

-- purge_disposed --
DELETE FROM disposed WHERE uri = ?

-- purge_head --
DELETE FROM heads WHERE uri = ?

-- purge_turns --
DELETE FROM turns WHERE uri = ?

-- purge_uses --
DELETE FROM blob_uses WHERE session = ?

-- purge_blob --
DELETE FROM blobs WHERE digest = ?

-- forget_listed_terminals --
-- The root channel lists terminals. Those that a session has ever claimed are in no list any more.
UPDATE journal SET action = CAST(json_set(CAST(action AS TEXT), '$.terminals', (
    SELECT json_group_array(json(one.value)) FROM json_each(CAST(action AS TEXT), '$.terminals') AS one
    WHERE json_extract(one.value, '$.resource') NOT IN (
        SELECT json_extract(CAST(claimed.action AS TEXT), '$.uri') FROM journal AS claimed
        WHERE claimed.channel = (SELECT id FROM channels WHERE name = 'serai-terminals')
        AND json_extract(CAST(claimed.action AS TEXT), '$.claim.session') = ?1
    )
)) AS BLOB)
WHERE channel = (SELECT id FROM channels WHERE name = 'ahp-root://')
AND json_extract(CAST(action AS TEXT), '$.type') = 'root/terminalsChanged'

-- forget_terminals --
-- What is recorded of those terminals stays, with its numbers, and says nothing.
UPDATE journal SET action = CAST('{"type":"terminal.disposed","uri":""}' AS BLOB)
WHERE channel = (SELECT id FROM channels WHERE name = 'serai-terminals')
AND json_extract(CAST(action AS TEXT), '$.uri') IN (
    SELECT json_extract(CAST(action AS TEXT), '$.uri') FROM journal
    WHERE channel = (SELECT id FROM channels WHERE name = 'serai-terminals')
    AND json_extract(CAST(action AS TEXT), '$.claim.session') = ?1
)

-- uses_of_session --
SELECT digest FROM blob_uses WHERE session = ?

-- used_blobs --
SELECT DISTINCT digest FROM blob_uses

-- contents_of_session --
-- Where a session may name a blob.
SELECT state FROM heads WHERE uri = ?1
UNION ALL SELECT turn FROM turns WHERE uri = ?1
UNION ALL SELECT action FROM journal WHERE channel IN (SELECT id FROM channels WHERE name IN (?1, ?2))

-- contents_with_blobs --
-- Everything that names any blob: read once, when something is erased.
SELECT state FROM heads WHERE instr(state, ?1)
UNION ALL SELECT turn FROM turns WHERE instr(turn, ?1)
UNION ALL SELECT action FROM journal WHERE instr(action, ?1)

-- old_rows --
-- What was written before a day, and whether it goes: all of some channels, and of a session what its head reflects.
-- Without a later day nothing was written since: then all rows are from before. The length of a blob is known without
-- reading it.
SELECT j.seq, j.channel, c.name, length(j.action) + coalesce(length(j.origin), 0),
    CASE WHEN c.name IN (SELECT value FROM json_each(?3)) THEN 1 ELSE j.seq <= h.seq END
FROM journal AS j CROSS JOIN channels AS c ON c.id = j.channel LEFT JOIN heads AS h ON h.uri = c.name
WHERE j.seq > ?1 AND j.seq <= coalesce(
    (SELECT min(first_seq) - 1 FROM days WHERE day >= ?2), (SELECT max(seq) FROM journal), 0)
ORDER BY j.seq LIMIT ?4

-- prune_rows --
DELETE FROM journal WHERE seq IN (SELECT value FROM carray(?))

-- prune_locators --
DELETE FROM locators WHERE channel = ? AND until <= ?

-- set_pruned --
UPDATE channels SET pruned = ? WHERE id = ?

-- check_heads --
-- Heads that reflect what was never given out.
SELECT uri FROM heads WHERE seq >= (SELECT ceiling FROM state)

-- check_channels --
-- Rows whose channel has no name.
SELECT count(*) FROM journal WHERE channel NOT IN (SELECT id FROM channels)

-- check_ceiling --
-- Rows beyond what was given out.
SELECT count(*) FROM journal WHERE seq >= (SELECT ceiling FROM state)

-- check_located --
SELECT seq, channel FROM journal WHERE seq <= (SELECT located FROM state)

-- check_marks --
SELECT id, pruned FROM channels

-- check_locators --
SELECT channel, numbers FROM locators ORDER BY channel, until

-- check_blob_uses --
SELECT digest FROM blob_uses WHERE digest NOT IN (SELECT digest FROM blobs)
