-- What the home of format 5 holds: the rows that the release of that format wrote.
INSERT INTO sessions VALUES
    (1, 'webchat:default', 'webchat', 'owner', 'About armadillos', 1, 'aethon', 0, 1763800000000, 1763800060000, 4),
    (2, 'webhook:release-5', 'webhook', 'alice', 'A call', 1, 'aethon', 1, 1763800100000, 1763800100000, 2),
    (3, 'webchat:waiting', 'webchat', 'owner', '', 0, 'aethon', 0, 1763800200000, 1763800200000, 0);
INSERT INTO turns VALUES
    (1, '0193-turn-1', 1, 'webchat', 'm1', NULL, 2, 1, 1763800000000, 1763800000001, 1763800000500, 1, 2,
     '{"end":"end","model":"fake"}',
     '{"session":"webchat:default","channel":"webchat","sender":"owner","dedupe":{"id":"m1","valid_for":null},"intent":{"intent":"say"},"text":"an armadillo"}'),
    (2, '0193-turn-2', 1, 'webchat', NULL, NULL, 2, 1, 1763800050000, 1763800050001, 1763800060000, 3, 4,
     '{"end":"end","model":"fake"}',
     '{"session":"webchat:default","channel":"webchat","sender":"owner","dedupe":null,"intent":{"intent":"say"},"text":"and where?"}'),
    (3, '0193-turn-3', 2, 'webhook', NULL, NULL, 2, 1, 1763800100000, 1763800100001, 1763800100500, 5, 6,
     '{"end":"end","model":"fake"}',
     '{"session":"webhook:release-5","channel":"webhook","sender":"alice","dedupe":null,"intent":{"intent":"say"},"text":"called","untrusted":true,"oneshot":true}'),
    (4, '0193-turn-4', 3, 'webchat', 'm-waiting', NULL, 0, 0, 1763800200000, NULL, NULL, NULL, NULL, NULL,
     '{"session":"webchat:waiting","channel":"webchat","sender":"owner","dedupe":{"id":"m-waiting","valid_for":null},"intent":{"intent":"say"},"text":"!say it only waited"}');
INSERT INTO messages VALUES
    (1, 1, NULL, NULL, 1763800000000, 'user', '0193-turn-1', NULL, NULL, NULL, '[{"type":"text","text":"an armadillo"}]'),
    (2, 1, NULL, NULL, 1763800000500, 'assistant', '0193-turn-1', 'fake', NULL, 'end', '[{"type":"text","text":"It has a shell."}]'),
    (3, 1, NULL, NULL, 1763800050000, 'user', '0193-turn-2', NULL, NULL, NULL, '[{"type":"text","text":"and where?"}]'),
    (4, 1, NULL, NULL, 1763800060000, 'assistant', '0193-turn-2', 'fake', NULL, 'end', '[{"type":"text","text":"In the south."}]'),
    (5, 2, NULL, NULL, 1763800100000, 'user', '0193-turn-3', NULL, NULL, NULL, '[{"type":"text","text":"called"}]'),
    (6, 2, NULL, NULL, 1763800100500, 'assistant', '0193-turn-3', 'fake', NULL, 'end', '[{"type":"text","text":"answered"}]');
INSERT INTO posted VALUES ('webchat:default', 'post-1', 1763800000000);
INSERT INTO outbox VALUES
    (1, 'webchat:default', '0193-turn-1', 'webchat', NULL, 'It has a shell.', 1763800000500, 1763886400500, NULL, 1763800000600, 1, 1, NULL);
INSERT INTO calls VALUES
    (1, 20414, 1763800000500, 1, '0193-turn-1', 'fake', 'fake', 'turn', 1, 120, 30, 0, 2500000, 0);
INSERT INTO spending VALUES (20414, 'fake', 'fake', 'turn', 1, 0, 120, 30, 0, 2500000, 0);
INSERT INTO vectors VALUES (1, 'openai/text-embedding-3-small', X'0707', 20414, X'0000803F00000040');
