-- What happened, who did it and why.
CREATE TABLE audit_events (
    id INTEGER PRIMARY KEY AUTOINCREMENT,
    at_ms INTEGER NOT NULL,
    kind TEXT NOT NULL,
    actor TEXT NOT NULL,
    task_id TEXT,
    ticket_id TEXT,
    operation_id TEXT,
    level TEXT,
    detail TEXT NOT NULL CHECK (json_valid(detail)),
    protection_status TEXT NOT NULL CHECK (protection_status IN ('redacted', 'scanned_no_findings')),
    policy_version TEXT NOT NULL,
    finding_count INTEGER NOT NULL
) STRICT;
CREATE INDEX audit_events_by_time ON audit_events (at_ms);
CREATE INDEX audit_events_by_task ON audit_events (task_id) WHERE task_id IS NOT NULL;

-- What was recorded is not rewritten; only retention removes it.
CREATE TRIGGER audit_events_stay BEFORE UPDATE ON audit_events
BEGIN
    SELECT RAISE(ABORT, 'audit events are never changed');
END;
