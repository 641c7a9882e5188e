-- What channels remember, and whether a delivery is the reply of its turn.

CREATE TABLE channel_records (
    channel       TEXT NOT NULL,
    name          TEXT NOT NULL,
    value         TEXT NOT NULL,
    until         INTEGER,                           -- null: for ever
    PRIMARY KEY (channel, name)
) STRICT, WITHOUT ROWID;

CREATE INDEX channel_records_until ON channel_records (until) WHERE until IS NOT NULL;

ALTER TABLE outbox ADD COLUMN is_reply INTEGER NOT NULL DEFAULT 0;

CREATE INDEX outbox_recipient ON outbox (channel, recipient) WHERE due_at IS NOT NULL AND recipient IS NOT NULL;
