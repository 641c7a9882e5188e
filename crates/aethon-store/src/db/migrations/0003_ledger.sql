-- What model calls cost. Money is whole billionths of a dollar, so that sums are exact; days are days since 1970, UTC.

CREATE TABLE calls (
    id            INTEGER PRIMARY KEY,
    day           INTEGER NOT NULL,
    ended_at      INTEGER NOT NULL,
    session_key   INTEGER,                           -- by key: the name of a removed session does not live on here
    turn          TEXT,
    provider      TEXT    NOT NULL,
    model         TEXT    NOT NULL,
    kind          TEXT    NOT NULL,
    is_ok         INTEGER NOT NULL,
    input_tokens  INTEGER NOT NULL,                  -- the cached ones included
    output_tokens INTEGER NOT NULL,
    cached_tokens INTEGER NOT NULL,
    cost          INTEGER NOT NULL
) STRICT;
CREATE INDEX calls_by_day ON calls (day);

-- The sums of calls, kept in the same transaction, and for longer.
CREATE TABLE spending (
    day           INTEGER NOT NULL,
    provider      TEXT    NOT NULL,
    model         TEXT    NOT NULL,
    kind          TEXT    NOT NULL,
    requests      INTEGER NOT NULL,
    failed        INTEGER NOT NULL,
    input_tokens  INTEGER NOT NULL,
    output_tokens INTEGER NOT NULL,
    cached_tokens INTEGER NOT NULL,
    cost          INTEGER NOT NULL,
    PRIMARY KEY (day, provider, model, kind)
) STRICT, WITHOUT ROWID;

-- Money set aside for calls that run.
CREATE TABLE reservations (
    id            INTEGER PRIMARY KEY AUTOINCREMENT, -- never used twice: a late caller settles its own or nothing
    day           INTEGER NOT NULL,
    is_daemons    INTEGER NOT NULL,                  -- what a daemon leaves behind, the next one counts as spent
    amount        INTEGER NOT NULL
) STRICT;
CREATE INDEX reservations_by_day ON reservations (day);
