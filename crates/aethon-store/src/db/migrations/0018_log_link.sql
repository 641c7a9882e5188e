-- Ties the write-ahead log to the database that it belongs to; see db/log_link.rs. One row whose BLOB is the last thing on
-- the table's only page: sixteen bytes by which that page is recognised, the mark of the newest log, and the mark before it.
CREATE TABLE log_link (
    id INTEGER PRIMARY KEY CHECK (id = 1),
    link BLOB NOT NULL
) STRICT;
INSERT INTO log_link VALUES (1, X'FFAE7468FE4C6F67FD4C696E6BFCFBFA00000000000000000000000000000000');
