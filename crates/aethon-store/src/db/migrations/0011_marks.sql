-- What is remembered from one run of the program to the next: times in milliseconds, and the count of the probes that show
-- whether something can be written.

CREATE TABLE marks (
    name  TEXT    PRIMARY KEY, -- 'latest', 'maintained_at', 'probes'
    value INTEGER NOT NULL
) STRICT, WITHOUT ROWID;

-- Nothing was stored after the latest use of a session, as far as can be told now.
INSERT INTO marks SELECT 'latest', max(updated_at) FROM sessions HAVING count(*) > 0;
