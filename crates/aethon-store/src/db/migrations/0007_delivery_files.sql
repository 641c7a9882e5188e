-- The files that go with a delivery, as JSON; null when there are none.

ALTER TABLE outbox ADD COLUMN attachments TEXT;
