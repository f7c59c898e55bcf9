-- Who may look at the console, and the indexes that its pages walk.

-- Viewers: a name and the digest of the token that was shown once. They belong to an epoch, so that
-- the backup of an older time does not bring a revoked token back.
CREATE TABLE console_viewers (
    id INTEGER PRIMARY KEY AUTOINCREMENT,
    name TEXT NOT NULL CHECK (length(name) BETWEEN 1 AND 40),
    token_digest TEXT NOT NULL CHECK (length(token_digest) = 64),
    epoch INTEGER NOT NULL,
    created_at_ms INTEGER NOT NULL,
    expires_at_ms INTEGER NOT NULL,
    revoked_at_ms INTEGER,
    CHECK (expires_at_ms > created_at_ms)
) STRICT;
-- A token is one viewer's.
CREATE UNIQUE INDEX console_viewers_token ON console_viewers (token_digest);
-- A name has one token that is not revoked.
CREATE UNIQUE INDEX console_viewers_name ON console_viewers (name) WHERE revoked_at_ms IS NULL;

-- A revocation is final, and a token is never given to somebody else or made to last longer.
CREATE TRIGGER console_viewers_stay_revoked BEFORE UPDATE OF revoked_at_ms ON console_viewers
WHEN OLD.revoked_at_ms IS NOT NULL
BEGIN
    SELECT RAISE(ABORT, 'the token is revoked');
END;
CREATE TRIGGER console_viewers_are_bound
BEFORE UPDATE OF id, name, token_digest, epoch, created_at_ms, expires_at_ms ON console_viewers
BEGIN
    SELECT RAISE(ABORT, 'name, token and expiry of a viewer stay');
END;

-- The audit page walks the newest events of one kind, of one actor, ticket or operation.
CREATE INDEX audit_events_by_kind ON audit_events (kind);
CREATE INDEX audit_events_by_actor ON audit_events (actor);
CREATE INDEX audit_events_by_ticket ON audit_events (ticket_id) WHERE ticket_id IS NOT NULL;
CREATE INDEX audit_events_by_operation
    ON audit_events (operation_id) WHERE operation_id IS NOT NULL;

-- The usage page counts what protection replaced: only rows that hold something replaced.
CREATE INDEX group_messages_redacted ON group_messages (stored_at_ms) WHERE finding_count > 0;
CREATE INDEX tool_outputs_redacted ON tool_outputs (created_at_ms) WHERE finding_count > 0;

-- A task's timeline shows what was sent for it; the outbox page, what will never be sent.
CREATE INDEX outbox_messages_by_task ON outbox_messages (task_id) WHERE task_id IS NOT NULL;
CREATE INDEX outbox_messages_failed ON outbox_messages (id) WHERE state IN ('refused', 'dead');

-- The recovery page lists messages that broke the service, and those that may yet do so.
CREATE INDEX group_messages_quarantined ON group_messages (id) WHERE kind = 'quarantined';
CREATE INDEX messages_in_hand_crashed ON messages_in_hand (crashes) WHERE crashes > 0;
