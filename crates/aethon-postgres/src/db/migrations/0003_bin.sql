-- Sessions that a person has deleted, until they come back or are deleted for good. Their messages and turns stay under their keys,
-- where nothing finds them without a row in `sessions`.
CREATE TABLE binned_sessions (
    session_key   BIGINT  PRIMARY KEY,
    id            TEXT COLLATE "C" NOT NULL,                  -- another session may have it by now
    channel       TEXT COLLATE "C" NOT NULL,
    sender        TEXT COLLATE "C" NOT NULL,
    title         TEXT COLLATE "C" NOT NULL,
    title_source  BIGINT  NOT NULL,
    agent_name    TEXT COLLATE "C" NOT NULL,
    is_oneshot    BOOLEAN NOT NULL,
    created_at    BIGINT  NOT NULL,
    updated_at    BIGINT  NOT NULL,
    message_count BIGINT  NOT NULL,
    model         TEXT COLLATE "C",
    effort        TEXT COLLATE "C",
    instructions  TEXT COLLATE "C",
    folder        TEXT COLLATE "C",
    pinned        BOOLEAN NOT NULL,
    archived      BOOLEAN NOT NULL,
    read_through  BIGINT  NOT NULL,
    deleted_at    BIGINT  NOT NULL
);
CREATE INDEX binned_by_time ON binned_sessions (deleted_at, session_key);
CREATE INDEX binned_by_id ON binned_sessions (id, deleted_at, session_key);
