-- Old rows of the journal may go.

-- How old numbers are: the first one of each day on which something was written. One row a day, none per action.
CREATE TABLE days (
    day INTEGER PRIMARY KEY,     -- days since 1970, UTC
    first_seq INTEGER NOT NULL   -- all rows below it were committed before that day
) STRICT;

-- Of each channel, the last number that was pruned: who asks for rows after an earlier one cannot get them all.
ALTER TABLE channels ADD COLUMN pruned INTEGER NOT NULL DEFAULT 0;
