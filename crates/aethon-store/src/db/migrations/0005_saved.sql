-- What the tokens that providers had cached would have cost more, in billionths of a dollar.

ALTER TABLE calls ADD COLUMN saved INTEGER NOT NULL DEFAULT 0;
ALTER TABLE spending ADD COLUMN saved INTEGER NOT NULL DEFAULT 0;
