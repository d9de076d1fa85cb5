-- The statements of workflow runs, by name. In those that write, ?1 is the number of the record that they belong to.

-- put_workflow_run --
INSERT INTO workflow_runs (uri, record) VALUES (?2, ?3) ON CONFLICT (uri) DO UPDATE SET record = excluded.record

-- add_run_spent --
UPDATE workflow_runs SET spent = spent + ?3, unpriced = unpriced + ?4 WHERE uri = ?2

-- add_run_message --
INSERT INTO run_messages (run, number, node, id, role, model_id, at, content)
SELECT uri, 1 + coalesce((SELECT max(number) FROM run_messages WHERE run = uri), 0), ?3, ?4, ?5, ?6, ?7, ?8
FROM workflow_runs WHERE uri = ?2

-- add_run_step --
INSERT INTO run_steps (run, node, number, step) VALUES (?2, ?3, ?1, ?4)

-- workflow_run --
SELECT record, spent, unpriced FROM workflow_runs WHERE uri = ?1

-- run_messages --
SELECT number, node, id, role, model_id, at, content FROM run_messages WHERE run = ?1 ORDER BY number

-- steps_of_run --
SELECT node, step FROM run_steps WHERE run = ?1 ORDER BY number

-- purge_run_messages --
DELETE FROM run_messages WHERE run = ?1

-- purge_run_steps --
DELETE FROM run_steps WHERE run = ?1

-- purge_workflow_run --
DELETE FROM workflow_runs WHERE uri = ?1
