-- Tasks, their moves, and the transcript that each leaves.

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
