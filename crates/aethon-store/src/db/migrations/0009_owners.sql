-- Whose a turn is, of the programs that have this file open. An owner without a row, or whose lease is over, is gone, and
-- so are those of turns from before this version.

CREATE TABLE owners (
    owner         INTEGER PRIMARY KEY,               -- drawn by chance when the file is opened
    is_daemon     INTEGER NOT NULL,
    lease_until   INTEGER NOT NULL
) STRICT;

ALTER TABLE turns ADD COLUMN owner INTEGER;

-- Who may begin in a session is asked with every turn.
DROP INDEX turns_open;
CREATE INDEX turns_open ON turns (session_key, turn_key) WHERE phase < 2;
