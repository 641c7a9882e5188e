-- Several daemons on one database: what each is, and who holds what has one holder at a time.
ALTER TABLE owners ADD COLUMN version TEXT COLLATE "C" NOT NULL DEFAULT '';
ALTER TABLE owners ADD COLUMN started_at BIGINT NOT NULL DEFAULT 0;
ALTER TABLE owners ADD COLUMN seen_at BIGINT NOT NULL DEFAULT 0;

CREATE TABLE roles (
    role          TEXT COLLATE "C" PRIMARY KEY,
    owner         BIGINT  NOT NULL,
    held_until    BIGINT  NOT NULL                   -- by the server's clock, like all leases
);
