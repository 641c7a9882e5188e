-- Timed jobs, their runs, and runs of SOPs.

CREATE TABLE jobs (
    job_key       INTEGER PRIMARY KEY,
    id            TEXT NOT NULL UNIQUE,
    job           TEXT NOT NULL,                     -- the whole job, JSON
    next_run      INTEGER,                           -- null: never by itself
    retry_at      INTEGER,
    attempt       INTEGER NOT NULL DEFAULT 0,
    last_run      INTEGER,
    last_status   TEXT,
    last_error    TEXT
) STRICT;

CREATE INDEX jobs_due ON jobs (next_run) WHERE next_run IS NOT NULL;
CREATE INDEX jobs_retry ON jobs (retry_at) WHERE retry_at IS NOT NULL;

CREATE TABLE job_runs (
    run_key       INTEGER PRIMARY KEY,
    run_id        TEXT NOT NULL UNIQUE,
    job_key       INTEGER NOT NULL REFERENCES jobs ON DELETE CASCADE,
    due           INTEGER,                           -- null: somebody asked for it
    started_at    INTEGER NOT NULL,
    ended_at      INTEGER,
    status        TEXT NOT NULL,
    error         TEXT,
    attempt       INTEGER NOT NULL
) STRICT;

CREATE INDEX job_runs_of_job ON job_runs (job_key, run_key);
CREATE INDEX job_runs_open ON job_runs (job_key) WHERE ended_at IS NULL;

CREATE TABLE sop_runs (
    run_key       INTEGER PRIMARY KEY,
    run_id        TEXT NOT NULL UNIQUE,
    sop_name      TEXT NOT NULL,
    session       TEXT NOT NULL,
    turn          TEXT,                              -- the turn that works on it, or did last
    state         TEXT NOT NULL,
    step          INTEGER NOT NULL,
    steps_done    INTEGER NOT NULL,
    steps         INTEGER NOT NULL,
    parameters    TEXT NOT NULL,                     -- JSON
    started_at    INTEGER NOT NULL,
    updated_at    INTEGER NOT NULL,
    cost          INTEGER NOT NULL,                  -- billionths of a dollar
    error         TEXT
) STRICT;

CREATE INDEX sop_runs_turn ON sop_runs (turn) WHERE turn IS NOT NULL;
CREATE INDEX sop_runs_state ON sop_runs (state, run_key);
