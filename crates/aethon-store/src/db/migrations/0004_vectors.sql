-- Vectors of texts, so that no text is paid for twice. The texts are not here, only their digests.

CREATE TABLE vectors (
    id      INTEGER PRIMARY KEY,
    model   TEXT    NOT NULL,
    key     BLOB    NOT NULL,
    used_on INTEGER NOT NULL,                        -- days since 1970, UTC: who is used every hour is written once a day
    vector  BLOB    NOT NULL,                        -- 32-bit floats, little end first
    UNIQUE (model, key)
) STRICT;
CREATE INDEX vectors_by_use ON vectors (used_on, id);
