-- What agents have done, bounded in number; and work that takes more than one turn.

CREATE TABLE agent_runs (
    run_key       INTEGER PRIMARY KEY,
    run           TEXT NOT NULL                      -- the whole run, JSON
) STRICT;

CREATE TABLE works (
    work_key      INTEGER PRIMARY KEY,
    work_id       TEXT NOT NULL UNIQUE,
    is_open       INTEGER NOT NULL,
    wish          TEXT,                              -- what a person wants of it and has not happened yet
    work          TEXT NOT NULL                      -- the whole of it, with its tasks, JSON
) STRICT;

CREATE INDEX works_open ON works (work_key) WHERE is_open = 1;

-- Switches that a person sets while the program runs, and that outlive it; those that are on.
CREATE TABLE switches (
    name          TEXT PRIMARY KEY
) STRICT;
