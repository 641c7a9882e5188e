-- What was measured: single events for some days, bounded in number, and their sums by day, from which summaries are made
-- without reading the events.

CREATE TABLE telemetry (
    id         INTEGER PRIMARY KEY AUTOINCREMENT, -- grows for ever: clients page by it
    at         INTEGER NOT NULL,
    type       TEXT    NOT NULL,                  -- 'tool_call', 'model_call', 'turn', ...
    name       TEXT    NOT NULL,
    status     TEXT    NOT NULL,
    seconds    REAL,
    session_id TEXT,
    turn       TEXT,
    detail     TEXT    NOT NULL,                  -- without secrets, bounded
    call       TEXT                               -- what a model call took, JSON
) STRICT;
CREATE INDEX telemetry_by_type ON telemetry (type, id);
CREATE INDEX telemetry_by_time ON telemetry (at);

CREATE TABLE telemetry_sums (
    day           INTEGER NOT NULL,               -- days since 1970, UTC
    type          TEXT    NOT NULL,
    name          TEXT    NOT NULL,
    status        TEXT    NOT NULL,
    bucket        INTEGER NOT NULL,               -- of the duration; -1: none
    count         INTEGER NOT NULL,
    seconds       REAL    NOT NULL,
    input_tokens  INTEGER NOT NULL,
    output_tokens INTEGER NOT NULL,
    cost          INTEGER NOT NULL,               -- billionths of a dollar
    PRIMARY KEY (day, type, name, status, bucket)
) STRICT, WITHOUT ROWID;

-- Deliveries that were given up are listed for the owner.
CREATE INDEX outbox_failed ON outbox (id) WHERE settled_at IS NOT NULL AND is_delivered = 0;
