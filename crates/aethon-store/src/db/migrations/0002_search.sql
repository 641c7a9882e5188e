-- Words of messages. The index holds no text of its own, and is filled behind the writes: everything up to the mark is in it.

CREATE VIRTUAL TABLE message_words USING fts5 (text, content = '', tokenize = 'unicode61 remove_diacritics 2');
-- A removed message leaves no words behind in the index.
INSERT INTO message_words (message_words, rank) VALUES ('secure-delete', 1);

CREATE TABLE search_mark (
    only_row      INTEGER PRIMARY KEY CHECK (only_row = 1),
    indexed_through INTEGER NOT NULL
) STRICT;
INSERT INTO search_mark VALUES (1, 0);
