-- Where the content of a delivery came from, as words for a person; null when all of it is the assistant's own.

ALTER TABLE outbox ADD COLUMN outside TEXT;
