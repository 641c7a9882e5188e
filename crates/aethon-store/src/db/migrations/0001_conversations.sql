-- Sessions, turns, messages and deliveries. Times are milliseconds since 1970, UTC.
--
-- There are no foreign keys: removing a session cuts its row off at once and removes what belonged to it in pieces
-- (purges), so that nobody waits for a long conversation to be deleted.

CREATE TABLE sessions (
    session_key   INTEGER PRIMARY KEY AUTOINCREMENT, -- never used twice: purges name it
    id            TEXT    NOT NULL UNIQUE,
    channel       TEXT    NOT NULL,
    sender        TEXT    NOT NULL,                  -- '' until somebody says something
    title         TEXT    NOT NULL,
    title_source  INTEGER NOT NULL,                  -- 0 none yet, 1 the first message, 2 a person
    agent_name    TEXT    NOT NULL,
    is_oneshot    INTEGER NOT NULL,
    created_at    INTEGER NOT NULL,
    updated_at    INTEGER NOT NULL,
    message_count INTEGER NOT NULL                   -- messages that are not superseded
) STRICT;
CREATE INDEX sessions_by_use ON sessions (updated_at);

CREATE TABLE turns (
    turn_key      INTEGER PRIMARY KEY,
    id            TEXT    NOT NULL UNIQUE,
    session_key   INTEGER NOT NULL,                  -- 0: only its dedupe id is remembered
    channel       TEXT    NOT NULL,
    dedupe_id     TEXT,
    dedupe_until  INTEGER,                           -- null: as long as the turn is kept
    phase         INTEGER NOT NULL,                  -- 0 queued, 1 running, 2 done
    attempts      INTEGER NOT NULL,
    accepted_at   INTEGER NOT NULL,
    started_at    INTEGER,
    ended_at      INTEGER,
    first_message INTEGER,
    reply_message INTEGER,                           -- holds the reply's text when outcome does not
    outcome       TEXT,
    inbound       TEXT    NOT NULL
) STRICT;
CREATE UNIQUE INDEX turns_by_dedupe ON turns (channel, dedupe_id) WHERE dedupe_id IS NOT NULL;
CREATE INDEX turns_by_expiry ON turns (dedupe_until) WHERE dedupe_until IS NOT NULL;
CREATE INDEX turns_by_session ON turns (session_key);
CREATE INDEX turns_open ON turns (turn_key) WHERE phase < 2;

CREATE TABLE messages (
    id            INTEGER PRIMARY KEY AUTOINCREMENT, -- grows for ever: clients page by it
    session_key   INTEGER NOT NULL,
    superseded_by INTEGER,                           -- the first message of the retry or edit that took its place
    folds_through INTEGER,                           -- the last message that its folded block stands for
    created_at    INTEGER NOT NULL,
    role          TEXT    NOT NULL,
    turn          TEXT,
    model         TEXT,
    usage         TEXT,
    stop_reason   TEXT,
    content       TEXT    NOT NULL
) STRICT;
CREATE INDEX messages_by_session ON messages (session_key, superseded_by, id);
CREATE INDEX messages_folding ON messages (session_key, id) WHERE folds_through IS NOT NULL;

CREATE TABLE posted (
    session       TEXT    NOT NULL,
    post_key      TEXT    NOT NULL,
    posted_at     INTEGER NOT NULL,
    PRIMARY KEY (session, post_key)
) STRICT, WITHOUT ROWID;

CREATE TABLE outbox (
    id            INTEGER PRIMARY KEY AUTOINCREMENT, -- channels tell repeated deliveries by it
    session       TEXT    NOT NULL,
    turn          TEXT    NOT NULL,
    channel       TEXT    NOT NULL,
    recipient     TEXT,
    text          TEXT    NOT NULL,
    created_at    INTEGER NOT NULL,
    expires_at    INTEGER NOT NULL,
    due_at        INTEGER,                           -- null once it is settled
    settled_at    INTEGER,
    is_delivered  INTEGER NOT NULL DEFAULT 0,
    attempts      INTEGER NOT NULL DEFAULT 0,
    error         TEXT
) STRICT;
CREATE INDEX outbox_due ON outbox (due_at) WHERE due_at IS NOT NULL;
CREATE INDEX outbox_settled ON outbox (settled_at) WHERE settled_at IS NOT NULL;

CREATE TABLE purges (
    session_key   INTEGER PRIMARY KEY,
    cut_at        INTEGER NOT NULL
) STRICT;
