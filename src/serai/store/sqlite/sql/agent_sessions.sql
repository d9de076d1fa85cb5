-- The statements of agent sessions, by name. In those that write, ?1 is the number of the record that they belong to.

-- put_agent_session --
INSERT INTO agent_sessions (uri, record) VALUES (?2, ?3) ON CONFLICT (uri) DO UPDATE SET record = excluded.record

-- add_spent --
UPDATE agent_sessions SET spent = spent + ?3, unpriced = unpriced + ?4 WHERE uri = ?2

-- add_session_message --
-- Of a session that has no row yet, none is kept: it has just been made, and its agent did not start.
INSERT INTO session_messages (session, number, turn, id, role, model_id, at, content)
SELECT uri, 1 + coalesce((SELECT max(number) FROM session_messages WHERE session = uri), 0), ?3, ?4, ?5, ?6, ?7, ?8
FROM agent_sessions WHERE uri = ?2

-- fork_session_messages --
-- What a session begins with that goes on from a turn of another one. ?4: those turns, as JSON.
INSERT INTO session_messages (session, number, turn, id, role, model_id, at, content)
SELECT ?2, row_number() OVER (ORDER BY number), turn, id, role, model_id, at, content
FROM session_messages WHERE session = ?3 AND turn IN (SELECT value FROM json_each(?4))

-- add_step --
INSERT INTO turn_steps (session, turn, number, step) VALUES (?2, ?3, ?1, ?4)

-- agent_session --
SELECT record, spent, unpriced FROM agent_sessions WHERE uri = ?1

-- session_messages --
SELECT number, turn, id, role, model_id, at, content FROM session_messages WHERE session = ?1 ORDER BY number

-- steps_of_turn --
SELECT step FROM turn_steps WHERE session = ?1 AND turn = ?2 ORDER BY number

-- purge_session_messages --
DELETE FROM session_messages WHERE session = ?1

-- purge_steps --
DELETE FROM turn_steps WHERE session = ?1

-- purge_agent_session --
DELETE FROM agent_sessions WHERE uri = ?1
