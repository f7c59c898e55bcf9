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

CREATE TABLE tasks (
    id TEXT PRIMARY KEY,
    group_id INTEGER NOT NULL,
    trigger_row INTEGER REFERENCES group_messages (id) ON DELETE SET NULL,
    requester_id INTEGER NOT NULL,
    state TEXT NOT NULL CHECK (state IN ('received', 'contextualizing', 'running', 'waiting_approval',
        'completing', 'completed', 'failed', 'cancelled')),
    step INTEGER NOT NULL DEFAULT 0,
    created_at_ms INTEGER NOT NULL,
    -- Time spent outside waiting_approval; the wall-time budget counts this.
    active_ms INTEGER NOT NULL DEFAULT 0,
    active_since_ms INTEGER,
    ended_at_ms INTEGER,
    end_reason TEXT,
    model_calls INTEGER NOT NULL DEFAULT 0,
    tool_calls INTEGER NOT NULL DEFAULT 0,
    input_tokens INTEGER NOT NULL DEFAULT 0,
    output_tokens INTEGER NOT NULL DEFAULT 0,
    policy_version TEXT NOT NULL,
    context_version TEXT NOT NULL,
    -- Why and how the window was cut, as JSON without content.
    window_facts TEXT NOT NULL DEFAULT '{}' CHECK (json_valid(window_facts)),
    crashes INTEGER NOT NULL DEFAULT 0,
    CHECK ((ended_at_ms IS NOT NULL) = (state IN ('completed', 'failed', 'cancelled')))
) STRICT;

-- A message makes at most one task.
CREATE UNIQUE INDEX tasks_once ON tasks (trigger_row) WHERE trigger_row IS NOT NULL;
-- At most one task is alive.
CREATE UNIQUE INDEX one_active_task ON tasks ((1)) WHERE state NOT IN ('completed', 'failed', 'cancelled');
-- Lists and clean-up walk by age.
CREATE INDEX tasks_by_age ON tasks (created_at_ms);

-- A task that ended stays ended.
CREATE TRIGGER tasks_end_once BEFORE UPDATE OF state ON tasks
WHEN OLD.state IN ('completed', 'failed', 'cancelled') AND NEW.state IS NOT OLD.state
BEGIN
    SELECT RAISE(ABORT, 'the task has ended');
END;
CREATE TRIGGER tasks_of_target_only BEFORE INSERT ON tasks
WHEN NEW.group_id IS NOT (SELECT group_id FROM target_group WHERE id = 1)
BEGIN
    SELECT RAISE(ABORT, 'not the target group');
END;
CREATE TRIGGER tasks_stay_of_target BEFORE UPDATE OF group_id ON tasks
WHEN NEW.group_id IS NOT OLD.group_id
BEGIN
    SELECT RAISE(ABORT, 'not the target group');
END;

CREATE TABLE task_events (
    id INTEGER PRIMARY KEY AUTOINCREMENT,
    task_id TEXT NOT NULL REFERENCES tasks (id) ON DELETE CASCADE,
    at_ms INTEGER NOT NULL,
    state_before TEXT,
    state_after TEXT NOT NULL,
    step INTEGER NOT NULL,
    reason TEXT NOT NULL DEFAULT ''
) STRICT;
CREATE INDEX task_events_by_task ON task_events (task_id);

-- The transcript: protected JSON in order. A restart rebuilds the session from these rows.
CREATE TABLE session_events (
    id INTEGER PRIMARY KEY AUTOINCREMENT,
    task_id TEXT NOT NULL REFERENCES tasks (id) ON DELETE CASCADE,
    seq INTEGER NOT NULL,
    kind TEXT NOT NULL CHECK (kind IN ('system', 'window', 'assistant', 'result', 'note')),
    call_id TEXT,
    body TEXT NOT NULL CHECK (json_valid(body)),
    -- Signed thinking blocks of a provider, replayed unchanged; NULL where there are none.
    opaque BLOB CHECK (opaque IS NULL OR length(opaque) <= 1048576),
    protection_status TEXT NOT NULL,
    policy_version TEXT NOT NULL,
    finding_count INTEGER NOT NULL,
    created_at_ms INTEGER NOT NULL,
    UNIQUE (task_id, seq)
) STRICT;
CREATE INDEX session_events_by_age ON session_events (created_at_ms);

-- Calls that the model asked for. The first High suspends the turn; the rest stay undispatched.
CREATE TABLE tool_calls (
    id TEXT PRIMARY KEY,
    task_id TEXT NOT NULL REFERENCES tasks (id) ON DELETE CASCADE,
    turn_seq INTEGER NOT NULL,
    position INTEGER NOT NULL,
    provider_call_id TEXT NOT NULL CHECK (length(provider_call_id) <= 256),
    tool TEXT NOT NULL CHECK (length(tool) <= 64),
    arguments TEXT NOT NULL,
    protection_status TEXT NOT NULL,
    policy_version TEXT NOT NULL,
    finding_count INTEGER NOT NULL,
    -- 0 where protection changed the arguments: after a restart such a call cannot run as given.
    arguments_intact INTEGER NOT NULL CHECK (arguments_intact IN (0, 1)),
    state TEXT NOT NULL CHECK (state IN ('undispatched', 'dispatched', 'waiting', 'done')),
    created_at_ms INTEGER NOT NULL,
    UNIQUE (task_id, turn_seq, position)
) STRICT;
CREATE INDEX tool_calls_by_age ON tool_calls (created_at_ms);

-- What tools gave, protected; kept 14 days while the transcript is kept 30.
CREATE TABLE tool_outputs (
    call_id TEXT PRIMARY KEY REFERENCES tool_calls (id) ON DELETE CASCADE,
    task_id TEXT NOT NULL,
    source TEXT NOT NULL,
    content TEXT NOT NULL,
    protection_status TEXT NOT NULL,
    policy_version TEXT NOT NULL,
    finding_count INTEGER NOT NULL,
    created_at_ms INTEGER NOT NULL
) STRICT;

CREATE INDEX tool_outputs_by_age ON tool_outputs (created_at_ms);

CREATE TABLE session_summaries (
    task_id TEXT PRIMARY KEY REFERENCES tasks (id) ON DELETE CASCADE,
    content TEXT NOT NULL,
    protection_status TEXT NOT NULL,
    policy_version TEXT NOT NULL,
    finding_count INTEGER NOT NULL,
    created_at_ms INTEGER NOT NULL
) STRICT;

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

-- One row: the global image.
CREATE TABLE sandbox_image_config (
    id INTEGER PRIMARY KEY CHECK (id = 1),
    reference TEXT NOT NULL,
    digest TEXT NOT NULL CHECK (digest GLOB 'sha256:*'),
    introduction TEXT NOT NULL,
    revision INTEGER NOT NULL CHECK (revision >= 1),
    updated_at_ms INTEGER NOT NULL
) STRICT;

CREATE TABLE sandboxes (
    id INTEGER PRIMARY KEY AUTOINCREMENT,
    name TEXT NOT NULL,
    slot INTEGER CHECK (slot BETWEEN 1 AND 3),
    state TEXT NOT NULL CHECK (state IN ('creating', 'ready', 'stopped', 'deleting', 'unconfirmed',
        'deleted', 'lost')),
    state_reason TEXT NOT NULL DEFAULT '',
    purpose TEXT NOT NULL,
    protection_status TEXT NOT NULL CHECK (protection_status IN ('redacted', 'scanned_no_findings')),
    policy_version TEXT NOT NULL,
    finding_count INTEGER NOT NULL,
    node TEXT NOT NULL,
    instance TEXT NOT NULL DEFAULT '',
    image_digest TEXT NOT NULL,
    image_revision INTEGER NOT NULL,
    limits TEXT NOT NULL CHECK (json_valid(limits)),
    network TEXT NOT NULL,
    created_at_ms INTEGER NOT NULL,
    -- Moved by real touches alone; observations leave it.
    last_active_at_ms INTEGER NOT NULL,
    ended_at_ms INTEGER,
    CHECK ((slot IS NULL) = (state IN ('deleted', 'lost')))
) STRICT;
-- A name is in use until its clean-up is confirmed.
CREATE UNIQUE INDEX sandboxes_name ON sandboxes (name) WHERE slot IS NOT NULL;
-- At most three exist, counting those in creation, in deletion and unconfirmed ones.
CREATE UNIQUE INDEX sandboxes_slot ON sandboxes (slot) WHERE slot IS NOT NULL;

-- A sandbox keeps its name, node and image for life, and does not come back from the dead.
CREATE TRIGGER sandboxes_are_bound
BEFORE UPDATE OF id, name, node, image_digest, image_revision, created_at_ms ON sandboxes
BEGIN
    SELECT RAISE(ABORT, 'name, node and image of a sandbox stay');
END;
CREATE TRIGGER sandboxes_end_once BEFORE UPDATE OF state ON sandboxes
WHEN OLD.state IN ('deleted', 'lost') AND NEW.state NOT IN ('deleted', 'lost')
BEGIN
    SELECT RAISE(ABORT, 'the sandbox has ended');
END;

-- What was done in or to a sandbox; the state is the operation's.
CREATE TABLE sandbox_operations (
    operation_id TEXT PRIMARY KEY REFERENCES operations (id) ON DELETE CASCADE,
    sandbox_id INTEGER NOT NULL REFERENCES sandboxes (id),
    kind TEXT NOT NULL CHECK (kind IN ('create', 'exec', 'read', 'write', 'list', 'stop', 'delete')),
    is_write INTEGER NOT NULL CHECK (is_write IN (0, 1)),
    created_at_ms INTEGER NOT NULL
) STRICT;
CREATE INDEX sandbox_operations_by_sandbox ON sandbox_operations (sandbox_id);

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
