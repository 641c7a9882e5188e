-- Words of messages. The index holds no text of its own, and is filled behind the writes: everything up to the mark is in it.

CREATE VIRTUAL TABLE message_words USING fts5 (text, content = '', tokenize = 'unicode61 remove_diacritics 2');

CREATE TABLE search_mark (
    only_row        INTEGER PRIMARY KEY CHECK (only_row = 1),
    indexed_through INTEGER NOT NULL,
    erasing         INTEGER NOT NULL -- whether the index still holds removed words: 0 no, 1 yes, 2 being worked on
) STRICT;
INSERT INTO search_mark VALUES (1, 0, 0);
