-- What was learnt about models while they were used: a row a fact, forgotten when nothing confirms it.

CREATE TABLE learned (
    provider   TEXT    NOT NULL,
    host       TEXT    NOT NULL, -- '' for the provider's own address
    model      TEXT    NOT NULL,
    fact       TEXT    NOT NULL, -- 'context_window' in tokens, 'token_ratio' as counted by estimated
    value      REAL    NOT NULL,
    learned_at INTEGER NOT NULL,
    PRIMARY KEY (provider, host, model, fact)
) STRICT, WITHOUT ROWID;
CREATE INDEX learned_by_age ON learned (learned_at);
