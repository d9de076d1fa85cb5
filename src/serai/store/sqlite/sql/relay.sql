-- The relay's statements, by name. In those that write, ?1 is the number of the record that they belong to.

-- put_identity --
INSERT INTO identities (number, id, name_key, session, gone, identity) VALUES (?2, ?3, ?4, ?5, ?6, ?7)
ON CONFLICT (number) DO UPDATE SET
    name_key = excluded.name_key, session = excluded.session, gone = excluded.gone, identity = excluded.identity

-- put_room --
INSERT INTO rooms (number, key, room) VALUES (?2, ?3, ?4)
ON CONFLICT (number) DO UPDATE SET room = excluded.room

-- put_member --
INSERT INTO members (room, identity, muted, read_until) VALUES (?2, ?3, ?4, ?5)
ON CONFLICT (room, identity) DO UPDATE SET
    muted = excluded.muted, read_until = max(read_until, excluded.read_until)

-- remove_member --
DELETE FROM members WHERE room = ?2 AND identity = ?3

-- add_message --
INSERT INTO messages (seq, id, room, thread, sender, key, message)
VALUES (?, ?, ?, (SELECT seq FROM messages WHERE id = ?), ?, ?, ?)

-- retract_message --
UPDATE messages SET retracted = 1, message = ?3 WHERE id = ?2

-- retract_words --
DELETE FROM words WHERE rowid = 2 * (SELECT seq FROM messages WHERE id = ?2) AND ?1

-- add_mention --
INSERT OR IGNORE INTO mentions (identity, message) VALUES (?2, ?1)

-- react --
INSERT OR IGNORE INTO reactions (message, emoji, identity, at)
SELECT seq, ?3, ?4, ?5 FROM messages WHERE id = ?2

-- unreact --
DELETE FROM reactions
WHERE message = (SELECT seq FROM messages WHERE id = ?2) AND emoji = ?3 AND identity = ?4

-- read_until --
UPDATE members SET read_until = max(read_until, (SELECT seq FROM messages WHERE id = ?4))
WHERE room = ?2 AND identity = ?3

-- add_delivery --
INSERT INTO deliveries (seq, message, agent, urgent, id, open, state, waits, due, record)
VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?)

-- put_delivery --
UPDATE deliveries
SET open = new.column3, state = new.column4, waits = new.column5, due = new.column6, record = new.column7
FROM (VALUES (?, ?, ?, ?, ?, ?, ?)) AS new WHERE id = new.column2

-- put_token --
INSERT INTO tokens (digest, token, revoked) VALUES (?2, ?3, ?4)
ON CONFLICT (digest) DO UPDATE SET token = excluded.token, revoked = excluded.revoked

-- put_webhook --
INSERT INTO webhooks (number, delivered_until, webhook) VALUES (?2, ?3, ?4)

-- move_webhook --
UPDATE webhooks SET delivered_until = ?3 WHERE number = ?2

-- delete_webhook --
DELETE FROM webhooks WHERE number = ?2

-- put_invocation --
INSERT INTO invocations (caller, id, open, invocation) VALUES (?2, ?3, ?4, ?5)
ON CONFLICT (caller, id) DO UPDATE SET open = excluded.open, invocation = excluded.invocation

-- webhooks --
SELECT number, delivered_until, webhook FROM webhooks ORDER BY number

-- invocation --
SELECT invocation FROM invocations WHERE caller = ?1 AND id = ?2

-- open_invocations --
SELECT caller, invocation FROM invocations WHERE open

-- identities --
SELECT number, session, gone, identity FROM identities ORDER BY number

-- rooms --
SELECT number, key, room FROM rooms ORDER BY number

-- members --
SELECT room, identity, muted FROM members

-- tokens --
SELECT digest, token FROM tokens WHERE NOT revoked

-- message --
SELECT seq, message FROM messages WHERE id = ?1

-- message_by_key --
SELECT seq, message FROM messages WHERE sender = ?1 AND key = ?2

-- messages_of_room --
-- Newest first, so that a limit keeps the last ones.
SELECT seq, message FROM messages WHERE room = ?1 AND seq < ?2 AND thread IS NULL ORDER BY seq DESC LIMIT ?3

-- messages_of_thread --
SELECT seq, message FROM messages WHERE thread = (SELECT seq FROM messages WHERE id = ?1) ORDER BY seq LIMIT ?2

-- messages_by_number --
SELECT seq, message FROM messages WHERE seq IN (SELECT value FROM json_each(?1)) ORDER BY seq

-- reactions_of --
SELECT m.id, r.emoji, r.identity FROM reactions AS r JOIN messages AS m ON m.seq = r.message
WHERE m.id IN (SELECT value FROM json_each(?1)) ORDER BY r.at

-- replies_of --
SELECT p.id, count(*) FROM messages AS p JOIN messages AS c ON c.thread = p.seq
WHERE p.id IN (SELECT value FROM json_each(?1)) GROUP BY p.seq

-- readers_of --
SELECT m.id, count(*) FROM messages AS m JOIN members AS r ON r.room = m.room AND r.read_until >= m.seq
WHERE m.id IN (SELECT value FROM json_each(?1)) AND r.identity != m.sender GROUP BY m.seq

-- unread_rooms --
-- Counted up to 1,000, and in the first 10,000 of a room: agents read no marks, and nobody counts further.
SELECT room, unread FROM (
    SELECT r.room, (SELECT max(seq) FROM messages WHERE room = r.room) AS newest, (
        SELECT count(*) FROM (
            SELECT 1 FROM (
                SELECT sender FROM messages WHERE room = r.room AND seq > r.read_until LIMIT 10000
            ) WHERE sender != ?1 LIMIT 1000
        )
    ) AS unread FROM members AS r WHERE r.identity = ?1
) WHERE unread ORDER BY newest DESC

-- unread_mentions --
SELECT m.seq, m.message FROM mentions AS n JOIN messages AS m ON m.seq = n.message
LEFT JOIN members AS r ON r.room = m.room AND r.identity = n.identity
WHERE n.identity = ?1 AND m.seq > coalesce(r.read_until, 0) ORDER BY m.seq DESC LIMIT ?2

-- recent_reactions --
SELECT m.id, r.emoji, r.identity, r.at FROM reactions AS r CROSS JOIN messages AS m ON m.seq = r.message
WHERE m.sender = ?1 AND r.identity != ?1 ORDER BY r.at DESC LIMIT ?2

-- delivery --
-- Queries of deliveries give a number and a record; those after which something is done, the message, too.
SELECT d.seq, d.record, m.message FROM deliveries AS d LEFT JOIN messages AS m ON m.id = d.message WHERE d.id = ?1

-- deliveries_of_message --
SELECT seq, record FROM deliveries WHERE message = ?1 ORDER BY seq

-- waiting_deliveries --
-- What waits for one agent, urgent ones first. ?2 says for what, or is empty for anything.
SELECT d.seq, d.record, m.message FROM deliveries AS d JOIN messages AS m ON m.id = d.message
WHERE d.open AND d.agent = ?1 AND d.waits != '' AND (?2 = '' OR d.waits = ?2)
ORDER BY d.urgent DESC, d.seq LIMIT ?3

-- offers_of_agent --
-- What a session elsewhere can be offered, urgent ones first; what waits for idle, too (?2), or not.
SELECT d.seq, d.record, m.message FROM deliveries AS d JOIN messages AS m ON m.id = d.message
WHERE d.open AND d.agent = ?1
    AND (d.state = 'created' OR d.waits IN ('connection', 'take', 'turn', 'fetch') OR (?2 AND d.waits = 'idle'))
ORDER BY d.urgent DESC, d.seq LIMIT ?3

-- entries_of_session --
-- What has entered over AHP and is not settled, and what was on its way when the host was stopped.
-- What its agent has accepted waits for nothing of the host's.
SELECT seq, record FROM deliveries
WHERE open AND agent = ?1 AND (message IS NULL OR state = 'handing' OR (state = 'accepted' AND waits = ''))
ORDER BY seq

-- counts_of_waiting --
SELECT agent, waits, count(*) FROM deliveries WHERE open AND message IS NOT NULL GROUP BY agent, waits

-- due_deliveries --
SELECT d.seq, d.record, m.message FROM deliveries AS d LEFT JOIN messages AS m ON m.id = d.message
WHERE d.due <= ?1 ORDER BY d.due LIMIT ?2

-- next_due --
SELECT min(due) FROM deliveries WHERE due IS NOT NULL

-- list_deliveries --
-- Newest first; ?1 an agent or null, ?2 a state or empty, ?3 only those with a number below.
SELECT seq, record FROM deliveries
WHERE (?1 IS NULL OR agent = ?1) AND (?2 = '' OR state = ?2) AND seq < ?3 ORDER BY seq DESC LIMIT ?4

-- list_deliveries_of --
-- The same of some messages: ?5 a list of their ids.
SELECT seq, record FROM deliveries WHERE message IN (SELECT value FROM json_each(?5))
AND (?1 IS NULL OR agent = ?1) AND (?2 = '' OR state = ?2) AND seq < ?3 ORDER BY seq DESC LIMIT ?4

-- list_open --
SELECT seq, record FROM deliveries WHERE open AND (?1 IS NULL OR agent = ?1) ORDER BY seq LIMIT ?2

-- purge_deliveries --
-- Of a session that is erased: what entered it, with the answers. Messages are also those of others, and stay.
DELETE FROM deliveries WHERE agent IN (SELECT number FROM identities WHERE session = ?1)

-- purge_identity --
UPDATE identities SET session = NULL, gone = 1 WHERE session = ?1

-- purge_words --
-- All of them: they are indexed anew. What is left in an index is not erased.
INSERT INTO words (words) VALUES ('delete-all')

-- indexed --
SELECT messages, turns FROM indexed WHERE id = 1

-- messages_to_index --
SELECT seq, message FROM messages WHERE seq > ?1 ORDER BY seq LIMIT ?2

-- turns_to_index --
SELECT rowid, turn FROM turns WHERE rowid > ?1 ORDER BY rowid LIMIT ?2

-- add_words --
INSERT INTO words (rowid, text) VALUES (?1, ?2)

-- set_indexed --
UPDATE indexed SET messages = ?1, turns = ?2 WHERE id = 1

-- search --
-- ?3 the numbers of the rooms whose messages may be seen; null for everything, and for what was said in sessions.
SELECT rowid FROM words WHERE words MATCH ?1 AND CASE
    WHEN rowid % 2 THEN ?3 IS NULL AND (SELECT NOT truncated FROM turns WHERE turns.rowid = words.rowid / 2)
    ELSE ?3 IS NULL OR (SELECT room FROM messages WHERE seq = words.rowid / 2) IN (SELECT value FROM json_each(?3))
END ORDER BY rank LIMIT ?2

-- search_newest --
-- The same for words that many have: to rank them all takes long.
SELECT rowid FROM words WHERE words MATCH ?1 AND CASE
    WHEN rowid % 2 THEN ?3 IS NULL AND (SELECT NOT truncated FROM turns WHERE turns.rowid = words.rowid / 2)
    ELSE ?3 IS NULL OR (SELECT room FROM messages WHERE seq = words.rowid / 2) IN (SELECT value FROM json_each(?3))
END ORDER BY rowid DESC LIMIT ?2

-- count_of_word --
SELECT count(*) FROM (SELECT 1 FROM words WHERE words MATCH ?1 LIMIT ?2)

-- turns_by_row --
SELECT rowid, uri, turn_id, turn FROM turns WHERE rowid IN (SELECT value FROM json_each(?1)) AND NOT truncated
