-- What is to be sent to the group (O1 of the facts on NapCat).
CREATE TABLE outbox_messages (
    id INTEGER PRIMARY KEY AUTOINCREMENT,
    -- The same key is enqueued once, whoever repeats the work that made it: `<key>#<part>`.
    idempotency_key TEXT NOT NULL,
    message_key TEXT NOT NULL,
    -- Parts of one message, from 1; a part waits for the earlier ones.
    part INTEGER NOT NULL CHECK (part BETWEEN 1 AND parts),
    parts INTEGER NOT NULL,
    group_id INTEGER NOT NULL,
    kind TEXT NOT NULL CHECK (kind IN ('final', 'busy', 'notice', 'progress', 'approval', 'command')),
    content TEXT NOT NULL,
    protection_status TEXT NOT NULL CHECK (protection_status IN ('redacted', 'scanned_no_findings')),
    policy_version TEXT NOT NULL,
    finding_count INTEGER NOT NULL,
    reply_to_message_id INTEGER,
    at_user_id INTEGER,
    task_id TEXT,
    ticket_id TEXT,
    state TEXT NOT NULL CHECK (state IN ('queued', 'sending', 'sent', 'unknown', 'refused', 'dead')),
    attempt INTEGER NOT NULL DEFAULT 0,
    echo TEXT,
    text_sha256 TEXT,
    not_before_ms INTEGER NOT NULL DEFAULT 0,
    attempted_at_ms INTEGER,
    possible_duplicate INTEGER NOT NULL DEFAULT 0 CHECK (possible_duplicate IN (0, 1)),
    sent_message_id INTEGER,
    last_error TEXT NOT NULL DEFAULT '',
    created_at_ms INTEGER NOT NULL,
    updated_at_ms INTEGER NOT NULL
) STRICT;
CREATE UNIQUE INDEX outbox_messages_once ON outbox_messages (idempotency_key);
CREATE INDEX outbox_messages_by_message ON outbox_messages (message_key);
CREATE INDEX outbox_messages_by_age ON outbox_messages (created_at_ms);
-- One send is in flight at a time.
CREATE UNIQUE INDEX outbox_messages_one_sending ON outbox_messages ((1)) WHERE state = 'sending';
CREATE INDEX outbox_messages_open ON outbox_messages (id) WHERE state IN ('queued', 'sending', 'unknown');
CREATE INDEX outbox_messages_by_sent_id ON outbox_messages (sent_message_id) WHERE sent_message_id IS NOT NULL;

CREATE TRIGGER outbox_messages_to_target_only BEFORE INSERT ON outbox_messages
WHEN NEW.group_id IS NOT (SELECT group_id FROM target_group WHERE id = 1)
BEGIN
    SELECT RAISE(ABORT, 'not the target group');
END;
-- What was enqueued is what is sent, and to nobody else.
CREATE TRIGGER outbox_messages_are_bound
BEFORE UPDATE OF idempotency_key, group_id, content, reply_to_message_id, at_user_id ON outbox_messages
BEGIN
    SELECT RAISE(ABORT, 'the text and target of a message stay');
END;
