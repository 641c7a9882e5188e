-- Long-term memory: facts, what they said before, and what they are found by.

CREATE TABLE memories (
    id          INTEGER PRIMARY KEY AUTOINCREMENT,   -- a number is never given twice
    scope       TEXT    NOT NULL,                    -- whose it is
    fingerprint BLOB    NOT NULL,                    -- the same for texts that say the same
    content     TEXT    NOT NULL,
    category    TEXT    NOT NULL,
    source      TEXT    NOT NULL,
    created_at  INTEGER NOT NULL,
    updated_at  INTEGER NOT NULL,
    recalled_at INTEGER,
    UNIQUE (scope, fingerprint)
) STRICT;
CREATE INDEX memories_by_change ON memories (scope, updated_at, id);

CREATE TABLE memory_versions (
    id          INTEGER PRIMARY KEY,
    memory_id   INTEGER NOT NULL REFERENCES memories (id) ON DELETE CASCADE,
    content     TEXT    NOT NULL,
    category    TEXT    NOT NULL,
    source      TEXT    NOT NULL,
    replaced_at INTEGER NOT NULL
) STRICT;
CREATE INDEX memory_versions_by_memory ON memory_versions (memory_id, id);

-- Stems for ranking, and the words as they were written for what is typed only in part. Both are made by the program; the
-- index holds no text of its own.
CREATE VIRTUAL TABLE memory_words USING fts5 (stems, words, content = '', contentless_delete = 1, tokenize = 'unicode61 remove_diacritics 0');

-- In how many memories of a scope a stem stands; under '' how many memories there are, under ' ' how many stems they have.
CREATE TABLE memory_stems (
    scope   TEXT    NOT NULL,
    stem    TEXT    NOT NULL,
    entries INTEGER NOT NULL,
    PRIMARY KEY (scope, stem)
) STRICT, WITHOUT ROWID;

CREATE TABLE memory_vectors (
    id        INTEGER PRIMARY KEY AUTOINCREMENT,     -- grows, so that what is new is known by it
    memory_id INTEGER NOT NULL UNIQUE REFERENCES memories (id) ON DELETE CASCADE,
    model     TEXT    NOT NULL,
    vector    BLOB    NOT NULL                       -- 32-bit floats, little end first
) STRICT;
CREATE INDEX memory_vectors_by_model ON memory_vectors (model, id);
