-- Sessions that a person has deleted, until they come back or are deleted for good. Their messages and turns stay under their keys,
-- where nothing finds them without a row in `sessions`.
CREATE TABLE binned_sessions (
    session_key   INTEGER PRIMARY KEY,
    id            TEXT    NOT NULL,                  -- another session may have it by now
    channel       TEXT    NOT NULL,
    sender        TEXT    NOT NULL,
    title         TEXT    NOT NULL,
    title_source  INTEGER NOT NULL,
    agent_name    TEXT    NOT NULL,
    is_oneshot    INTEGER NOT NULL,
    created_at    INTEGER NOT NULL,
    updated_at    INTEGER NOT NULL,
    message_count INTEGER NOT NULL,
    model         TEXT,
    effort        TEXT,
    instructions  TEXT,
    folder        TEXT,
    pinned        INTEGER NOT NULL,
    archived      INTEGER NOT NULL,
    read_through  INTEGER NOT NULL,
    deleted_at    INTEGER NOT NULL
) STRICT;
CREATE INDEX binned_by_time ON binned_sessions (deleted_at);
CREATE INDEX binned_by_id ON binned_sessions (id, deleted_at);
