-- Tickets, and the operations that they pay for.

-- Tickets: an Owner's one-time permission for exactly one plan. A ticket outlives its task's rows
-- (30 days, or 7 days after the task's end), so it refers to the task without a foreign key and
-- keeps the task's end itself.
CREATE TABLE approvals (
    id TEXT PRIMARY KEY,
    group_id INTEGER NOT NULL,
    origin_kind TEXT NOT NULL CHECK (origin_kind IN ('task', 'command')),
    origin_id TEXT NOT NULL,
    task_id TEXT,
    call_id TEXT,
    action TEXT NOT NULL,
    plan_hash TEXT NOT NULL,
    plan TEXT NOT NULL CHECK (json_valid(plan)),
    target_summary TEXT NOT NULL,
    protection_status TEXT NOT NULL CHECK (protection_status IN ('redacted', 'scanned_no_findings')),
    policy_version TEXT NOT NULL,
    finding_count INTEGER NOT NULL,
    owners TEXT NOT NULL CHECK (json_valid(owners) AND json_array_length(owners) >= 1),
    code_digest TEXT NOT NULL,
    state TEXT NOT NULL
        CHECK (state IN ('pending', 'approved', 'consumed', 'denied', 'expired', 'void')),
    attempts INTEGER NOT NULL DEFAULT 0 CHECK (attempts BETWEEN 0 AND 5),
    created_at_ms INTEGER NOT NULL,
    expires_at_ms INTEGER NOT NULL,
    decided_by INTEGER,
    decided_at_ms INTEGER,
    consumed_at_ms INTEGER,
    task_ended_at_ms INTEGER,
    CHECK ((origin_kind = 'task') = (task_id IS NOT NULL)),
    -- Ten minutes, for the decision and the execution together.
    CHECK (expires_at_ms BETWEEN created_at_ms AND created_at_ms + 600000),
    CHECK (state NOT IN ('approved', 'consumed', 'denied') OR decided_by IS NOT NULL),
    CHECK ((state = 'consumed') = (consumed_at_ms IS NOT NULL))
) STRICT;
-- A call waits for at most one living ticket.
CREATE UNIQUE INDEX approvals_one_living_for_call
    ON approvals (call_id) WHERE state IN ('pending', 'approved') AND call_id IS NOT NULL;
CREATE INDEX approvals_living ON approvals (expires_at_ms) WHERE state IN ('pending', 'approved');
CREATE INDEX approvals_by_task ON approvals (task_id) WHERE task_id IS NOT NULL;
CREATE INDEX approvals_by_age ON approvals (created_at_ms);

CREATE TRIGGER approvals_of_target_only BEFORE INSERT ON approvals
WHEN NEW.group_id IS NOT (SELECT group_id FROM target_group WHERE id = 1)
BEGIN
    SELECT RAISE(ABORT, 'not the target group');
END;
-- A ticket of a task is drawn while that task lives.
CREATE TRIGGER approvals_of_living_task BEFORE INSERT ON approvals
WHEN NEW.task_id IS NOT NULL
    AND NOT EXISTS (SELECT 1 FROM tasks WHERE id = NEW.task_id AND ended_at_ms IS NULL)
BEGIN
    SELECT RAISE(ABORT, 'the task has ended');
END;
-- pending → approved | denied | expired | void; approved → consumed | expired | void; then no more.
CREATE TRIGGER approvals_move_forward BEFORE UPDATE OF state ON approvals
WHEN NEW.state IS NOT OLD.state AND NOT (
    (OLD.state = 'pending' AND NEW.state IN ('approved', 'denied', 'expired', 'void'))
    OR (OLD.state = 'approved' AND NEW.state IN ('consumed', 'expired', 'void')))
BEGIN
    SELECT RAISE(ABORT, 'the ticket is spent or dead');
END;
-- What was asked for is what is approved.
CREATE TRIGGER approvals_are_bound BEFORE UPDATE OF id, group_id, origin_kind, origin_id, task_id,
    call_id, action, plan_hash, plan, owners, code_digest, created_at_ms, expires_at_ms ON approvals
BEGIN
    SELECT RAISE(ABORT, 'the bindings of a ticket stay');
END;
-- Clean-up asks the ticket, not the task, when the task ended.
CREATE TRIGGER approvals_keep_the_end AFTER UPDATE OF ended_at_ms ON tasks
WHEN NEW.ended_at_ms IS NOT NULL
BEGIN
    UPDATE approvals SET task_ended_at_ms = NEW.ended_at_ms WHERE task_id = NEW.id;
END;

-- Every executed action: a row before the effect, its outcome after it. It outlives the rows of its
-- task, call and ticket, so it names them without foreign keys; triggers hold what it needs of them.
CREATE TABLE operations (
    id TEXT PRIMARY KEY,
    origin_kind TEXT NOT NULL,
    origin_id TEXT NOT NULL,
    task_id TEXT,
    call_id TEXT,
    action TEXT NOT NULL,
    level TEXT NOT NULL CHECK (level IN ('low', 'medium', 'high')),
    identity TEXT NOT NULL,
    plan_hash TEXT NOT NULL,
    plan TEXT NOT NULL CHECK (json_valid(plan)),
    protection_status TEXT NOT NULL CHECK (protection_status IN ('redacted', 'scanned_no_findings')),
    policy_version TEXT NOT NULL,
    finding_count INTEGER NOT NULL,
    ticket_id TEXT,
    state TEXT NOT NULL CHECK (state IN ('queued', 'started', 'succeeded', 'failed', 'cancelled',
        'abandoned', 'unknown', 'resolved')),
    outcome TEXT NOT NULL DEFAULT '{}' CHECK (json_valid(outcome)),
    created_at_ms INTEGER NOT NULL,
    started_at_ms INTEGER,
    ended_at_ms INTEGER,
    CHECK (level <> 'high' OR ticket_id IS NOT NULL)
) STRICT;
-- A ticket pays for one operation, ever.
CREATE UNIQUE INDEX operations_one_for_ticket ON operations (ticket_id) WHERE ticket_id IS NOT NULL;
-- A call is executed at most once.
CREATE UNIQUE INDEX operations_one_for_call ON operations (call_id) WHERE call_id IS NOT NULL;
CREATE INDEX operations_by_task ON operations (task_id);
CREATE INDEX operations_open ON operations (state) WHERE state IN ('queued', 'started', 'unknown');
CREATE INDEX operations_by_age ON operations (created_at_ms);

-- A ticket pays only for the plan that it was drawn for.
CREATE TRIGGER operations_name_their_ticket BEFORE INSERT ON operations
WHEN NEW.ticket_id IS NOT NULL AND NOT EXISTS (
    SELECT 1 FROM approvals WHERE id = NEW.ticket_id AND plan_hash = NEW.plan_hash)
BEGIN
    SELECT RAISE(ABORT, 'no ticket for this plan');
END;
-- Nothing starts on a ticket that is not spent; a row begins as queued.
CREATE TRIGGER operations_begin_queued BEFORE INSERT ON operations
WHEN NEW.state <> 'queued'
BEGIN
    SELECT RAISE(ABORT, 'an operation begins queued');
END;
CREATE TRIGGER operations_start_on_a_spent_ticket BEFORE UPDATE OF state ON operations
WHEN NEW.state = 'started' AND OLD.ticket_id IS NOT NULL AND NOT EXISTS (
    SELECT 1 FROM approvals
    WHERE id = OLD.ticket_id AND plan_hash = OLD.plan_hash AND state = 'consumed')
BEGIN
    SELECT RAISE(ABORT, 'the ticket is not consumed');
END;
-- What was done is never undone in the books: no way leads back to queued or started.
CREATE TRIGGER operations_move_forward BEFORE UPDATE OF state ON operations
WHEN NEW.state IS NOT OLD.state AND NOT (
    (OLD.state = 'queued' AND NEW.state IN ('started', 'abandoned'))
    OR (OLD.state = 'started' AND NEW.state IN ('succeeded', 'failed', 'cancelled', 'unknown'))
    OR (OLD.state = 'unknown' AND NEW.state IN ('succeeded', 'failed', 'cancelled', 'resolved')))
BEGIN
    SELECT RAISE(ABORT, 'the operation has moved on');
END;
CREATE TRIGGER operations_are_bound BEFORE UPDATE OF id, action, level, identity, plan_hash, plan,
    ticket_id, call_id, task_id ON operations
BEGIN
    SELECT RAISE(ABORT, 'the plan of an operation stays');
END;
