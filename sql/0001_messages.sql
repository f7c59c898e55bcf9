-- The tables of the service. Every text column that can hold something said by a person, a model,
-- a tool or a peer is written from a `Protected` value only (perlica/protection).

-- One row: the group that this database belongs to. Other groups' rows cannot be inserted.
CREATE TABLE target_group (
    id INTEGER PRIMARY KEY CHECK (id = 1),
    group_id INTEGER NOT NULL,
    self_id INTEGER NOT NULL,
    created_at_ms INTEGER NOT NULL
) STRICT;

-- A database never changes its group.
CREATE TRIGGER target_group_stays BEFORE UPDATE OF id, group_id ON target_group
WHEN NEW.group_id IS NOT OLD.group_id OR NEW.id IS NOT OLD.id
BEGIN
    SELECT RAISE(ABORT, 'the target group stays');
END;
CREATE TRIGGER target_group_is_kept BEFORE DELETE ON target_group
BEGIN
    SELECT RAISE(ABORT, 'the target group stays');
END;

-- Small facts of the service: `epoch` (raised at every restore), `intake_salt`, last times.
CREATE TABLE service_state (
    key TEXT PRIMARY KEY,
    value TEXT NOT NULL
) STRICT, WITHOUT ROWID;

-- Messages of the target group, protected. `content` is '' where protection could not finish.
CREATE TABLE group_messages (
    id INTEGER PRIMARY KEY AUTOINCREMENT,
    group_id INTEGER NOT NULL,
    message_id INTEGER NOT NULL,
    real_seq INTEGER,
    -- real_seq, or where NapCat gave none that of the message before it: (order_seq, id) is the order.
    order_seq INTEGER NOT NULL,
    user_id INTEGER NOT NULL,
    sent_at_ms INTEGER NOT NULL,
    stored_at_ms INTEGER NOT NULL,
    kind TEXT NOT NULL CHECK (kind IN ('chat', 'trigger', 'control', 'quarantined')),
    display_name TEXT NOT NULL,
    display_name_status TEXT NOT NULL CHECK (display_name_status IN ('redacted',
        'scanned_no_findings', 'scan_incomplete', 'not_scanned')),
    content TEXT NOT NULL,
    protection_status TEXT NOT NULL
        CHECK (protection_status IN ('redacted', 'scanned_no_findings', 'scan_incomplete', 'not_scanned')),
    policy_version TEXT NOT NULL,
    finding_count INTEGER NOT NULL CHECK (finding_count >= 0),
    quoted_message_id INTEGER,
    recalled_at_ms INTEGER,
    CHECK (protection_status IN ('redacted', 'scanned_no_findings') OR content = ''),
    CHECK (display_name_status IN ('redacted', 'scanned_no_findings') OR display_name = '')
) STRICT;

-- A message is known by (group, message id, real_seq): QQ's message ids collide.
CREATE UNIQUE INDEX group_messages_once
    ON group_messages (group_id, message_id, real_seq) WHERE real_seq IS NOT NULL;
-- Without a real_seq the sender and the time take its place.
CREATE UNIQUE INDEX group_messages_once_without_seq
    ON group_messages (group_id, message_id, user_id, sent_at_ms) WHERE real_seq IS NULL;
-- Windows walk back by the time of sending.
CREATE INDEX group_messages_by_time ON group_messages (sent_at_ms, order_seq);
-- Clean-up walks by the age of the record, whatever time the sender claimed.
CREATE INDEX group_messages_by_age ON group_messages (stored_at_ms);
CREATE INDEX group_messages_by_seq ON group_messages (real_seq);
CREATE INDEX group_messages_by_message_id ON group_messages (message_id);

-- Only the target group's messages can be stored, whatever the code does.
CREATE TRIGGER group_messages_of_target_only BEFORE INSERT ON group_messages
WHEN NEW.group_id IS NOT (SELECT group_id FROM target_group WHERE id = 1)
BEGIN
    SELECT RAISE(ABORT, 'not the target group');
END;
CREATE TRIGGER group_messages_stay_of_target BEFORE UPDATE OF group_id ON group_messages
WHEN NEW.group_id IS NOT (SELECT group_id FROM target_group WHERE id = 1)
BEGIN
    SELECT RAISE(ABORT, 'not the target group');
END;

-- For each UTC day of sending, the span of row ids: a search in a time span walks these rows alone.
CREATE TABLE message_days (
    day INTEGER PRIMARY KEY,
    first_row INTEGER NOT NULL,
    last_row INTEGER NOT NULL
) STRICT;
CREATE TRIGGER group_messages_count_the_day AFTER INSERT ON group_messages
BEGIN
    INSERT INTO message_days (day, first_row, last_row)
    VALUES (NEW.sent_at_ms / 86400000, NEW.id, NEW.id)
    ON CONFLICT (day) DO UPDATE SET
        first_row = min(first_row, excluded.first_row),
        last_row = max(last_row, excluded.last_row);
END;

-- What may be found: never a control or quarantined row, never a recalled one.
CREATE VIEW searchable_messages AS
SELECT id, content FROM group_messages
WHERE kind IN ('chat', 'trigger') AND recalled_at_ms IS NULL;

-- The literal full-text index (tokenizer: perlica/stores/literal.py). It keeps no text of its own
-- but the tokens; these triggers keep it in step inside the writer's transaction.
CREATE VIRTUAL TABLE message_index USING fts5(
    content,
    content = 'searchable_messages',
    content_rowid = 'id',
    tokenize = 'perlica_literal',
    detail = none,
    columnsize = 0
);
-- A deleted row's tokens leave the index at once, not at some later merge.
INSERT INTO message_index (message_index, rank) VALUES ('secure-delete', 1);

CREATE TRIGGER message_index_after_insert AFTER INSERT ON group_messages
WHEN NEW.kind IN ('chat', 'trigger') AND NEW.recalled_at_ms IS NULL
BEGIN
    INSERT INTO message_index (rowid, content) VALUES (NEW.id, NEW.content);
END;
CREATE TRIGGER message_index_after_delete AFTER DELETE ON group_messages
WHEN OLD.kind IN ('chat', 'trigger') AND OLD.recalled_at_ms IS NULL
BEGIN
    INSERT INTO message_index (message_index, rowid, content)
    VALUES ('delete', OLD.id, OLD.content);
END;
CREATE TRIGGER message_index_before_change
BEFORE UPDATE OF id, kind, content, recalled_at_ms ON group_messages
WHEN OLD.kind IN ('chat', 'trigger') AND OLD.recalled_at_ms IS NULL
BEGIN
    INSERT INTO message_index (message_index, rowid, content)
    VALUES ('delete', OLD.id, OLD.content);
END;
CREATE TRIGGER message_index_after_change
AFTER UPDATE OF id, kind, content, recalled_at_ms ON group_messages
WHEN NEW.kind IN ('chat', 'trigger') AND NEW.recalled_at_ms IS NULL
BEGIN
    INSERT INTO message_index (rowid, content) VALUES (NEW.id, NEW.content);
END;

-- Attachments are metadata; nothing is downloaded by itself.
CREATE TABLE attachments (
    id INTEGER PRIMARY KEY AUTOINCREMENT,
    message_row INTEGER NOT NULL REFERENCES group_messages (id) ON DELETE CASCADE,
    kind TEXT NOT NULL,
    name TEXT NOT NULL,
    protection_status TEXT NOT NULL,
    policy_version TEXT NOT NULL,
    finding_count INTEGER NOT NULL CHECK (finding_count >= 0),
    size_bytes INTEGER CHECK (size_bytes >= 0),
    handle TEXT NOT NULL CHECK (length(handle) <= 1024),
    created_at_ms INTEGER NOT NULL
) STRICT;
CREATE INDEX attachments_by_message ON attachments (message_row);

-- Messages that intake is working on: what is left here after a crash was in hand at it.
-- Ids only. At three crashes the message is quarantined and announced.
CREATE TABLE messages_in_hand (
    group_id INTEGER NOT NULL,
    message_id INTEGER NOT NULL,
    -- -1 where NapCat gave none.
    real_seq INTEGER NOT NULL,
    marked_at_ms INTEGER NOT NULL,
    crashes INTEGER NOT NULL DEFAULT 0,
    in_hand INTEGER NOT NULL DEFAULT 1 CHECK (in_hand IN (0, 1)),
    PRIMARY KEY (group_id, message_id, real_seq)
) STRICT;
CREATE TRIGGER messages_in_hand_of_target_only BEFORE INSERT ON messages_in_hand
WHEN NEW.group_id IS NOT (SELECT group_id FROM target_group WHERE id = 1)
BEGIN
    SELECT RAISE(ABORT, 'not the target group');
END;

-- Dot commands, parsed before protection. A ticket's code is stored as its digest only.
CREATE TABLE commands (
    message_row INTEGER PRIMARY KEY REFERENCES group_messages (id) ON DELETE CASCADE,
    user_id INTEGER NOT NULL,
    name TEXT NOT NULL CHECK (length(name) <= 32),
    arguments TEXT NOT NULL CHECK (json_valid(arguments)),
    state TEXT NOT NULL CHECK (state IN ('pending', 'done')),
    created_at_ms INTEGER NOT NULL
) STRICT;
CREATE INDEX commands_pending ON commands (message_row) WHERE state = 'pending';
