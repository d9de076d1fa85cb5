-- The events of a session are counted.

-- When a row was committed, in milliseconds since 1970. Of rows from before this step nobody knows.
ALTER TABLE journal ADD COLUMN at INTEGER;

-- The number of the last event that a head reflects. The first event is that the session was made; then each row of its
-- channel is one. Rows that were pruned before this step were never counted.
ALTER TABLE heads ADD COLUMN events INTEGER NOT NULL DEFAULT 1;

UPDATE heads SET events = 1 + counted.rows
FROM (
    SELECT h.uri AS uri, count(*) AS rows
    FROM journal AS j CROSS JOIN channels AS c ON c.id = j.channel CROSS JOIN heads AS h ON h.uri = c.name
    WHERE j.seq <= h.seq
    GROUP BY h.uri
) AS counted
WHERE heads.uri = counted.uri;
