-- What was allowed and what was refused, for the owner to look up: bounded in number, the oldest rows go. It outlives the
-- conversations that it is about.

CREATE TABLE audit (
    id         INTEGER PRIMARY KEY,
    at         INTEGER NOT NULL,
    action     TEXT    NOT NULL, -- 'approval', 'refusal', 'grant', 'tools'
    subject    TEXT    NOT NULL, -- such as the name of a tool
    outcome    TEXT    NOT NULL,
    by         TEXT    NOT NULL, -- who or what decided, and where
    detail     TEXT    NOT NULL, -- without secrets, bounded
    session_id TEXT,
    turn       TEXT
) STRICT;
