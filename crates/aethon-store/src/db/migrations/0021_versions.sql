-- Answers and questions have versions, and each keeps the conversation that followed it.
--
-- From here on, superseded_by of a message that was put aside names the first message of the branch that it was put
-- aside with, so that exactly this branch can come back. Before, it named the message that took its place.
ALTER TABLE turns ADD COLUMN version_of INTEGER; -- the first message of its earliest version; null: there is only one
CREATE INDEX turns_by_version ON turns (session_key, version_of) WHERE version_of IS NOT NULL;
CREATE TABLE put_aside AS SELECT min(id) AS head, superseded_by AS taker FROM messages
    WHERE superseded_by IS NOT NULL GROUP BY session_key, superseded_by;
WITH RECURSIVE family (first, root) AS (
    SELECT head, head FROM put_aside WHERE head NOT IN (SELECT taker FROM put_aside)
    UNION ALL SELECT put_aside.taker, family.root FROM family JOIN put_aside ON put_aside.head = family.first
)
UPDATE turns SET version_of = (SELECT root FROM family WHERE family.first = turns.first_message)
    WHERE first_message IN (SELECT first FROM family);
UPDATE messages SET superseded_by = (SELECT head FROM put_aside WHERE taker = messages.superseded_by)
    WHERE superseded_by IS NOT NULL;
DROP TABLE put_aside;
