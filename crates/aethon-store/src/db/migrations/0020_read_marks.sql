-- The last message of a conversation that a person has seen. What was there before this mark counts as seen.
ALTER TABLE sessions ADD COLUMN read_through INTEGER NOT NULL DEFAULT 0;
UPDATE sessions SET read_through = coalesce((SELECT seq FROM sqlite_sequence WHERE name = 'messages'), 0);
