"""A database as large as it ever gets, filled by SQL alone in a few seconds.

10,000 tasks, 1,000,000 messages, 500,000 audit events and what belongs to them. The triggers that
keep the search index are left out while it is filled: no page of the console uses that index.
"""

from pathlib import Path
from typing import Final

from perlica.domain.clock import now_ms
from perlica.stores.database import Database
from perlica.stores.migrations import check_target, migrate

TASKS: Final = 10_000
MESSAGES: Final = 1_000_000
EVENTS: Final = 500_000

_FAST: Final = "PRAGMA synchronous = OFF"
_CACHE: Final = "PRAGMA cache_size = -262144"
_TRIGGERS: Final = "SELECT name FROM sqlite_schema WHERE type = 'trigger' AND tbl_name = :table"
_NUMBERS: Final = (
    "WITH RECURSIVE n (i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < :rows)\n"
)
"""In front of each statement: the numbers from 1 to `:rows`."""

_MESSAGES: Final = """
INSERT INTO group_messages (group_id, message_id, real_seq, order_seq, user_id, sent_at_ms,
    stored_at_ms, kind, display_name, display_name_status, content, protection_status,
    policy_version, finding_count)
SELECT :group_id, i, i, i, 30001 + i % 7, :now_ms - (:rows - i) * 7700,
    :now_ms - (:rows - i) * 7700,
    iif(i % 100, 'chat', 'trigger'), printf('成员 %d', i % 7), 'scanned_no_findings',
    iif(i % 400, printf('第 %d 条消息：今天的构建又慢了一点，谁有空看看？', i),
        '密码是 ⟦凭据:password:1⟧，令牌是 ⟦凭据:github_token:2⟧'),
    iif(i % 400, 'scanned_no_findings', 'redacted'), '2026-11-30', iif(i % 400, 0, 2)
FROM n
"""
_TASKS: Final = """
INSERT INTO tasks (id, group_id, trigger_row, requester_id, state, step, created_at_ms, active_ms,
    ended_at_ms, end_reason, model_calls, tool_calls, input_tokens, output_tokens, policy_version,
    context_version, window_facts)
SELECT printf('T-%06d', i), :group_id, i * 100, 30001 + i % 7,
    CASE i % 5 WHEN 0 THEN 'failed' WHEN 1 THEN 'cancelled' ELSE 'completed' END, i % 12,
    :now_ms - (:rows - i) * 250000 - 60000, 42000 + i, :now_ms - (:rows - i) * 250000, 'answered',
    2 + i % 9, 1 + i % 7, 4000 + i, 300 + i % 50, '2026-11-30', '1',
    '{"messages": 12, "code_points": 900, "cut_by": "age", "left_out": 2, "quoted": "none"}'
FROM n
"""
_EVENTS: Final = """
INSERT INTO task_events (task_id, at_ms, state_before, state_after, step, reason)
SELECT printf('T-%06d', 1 + (i - 1) / 4), :now_ms - (:rows - i) * 62500, 'running',
    'completed', 1, ''
FROM n
"""
_SESSION: Final = """
INSERT INTO session_events (task_id, seq, kind, body, protection_status, policy_version,
    finding_count, created_at_ms)
SELECT printf('T-%06d', 1 + (i - 1) / 8), 1 + (i - 1) % 8,
    CASE (i - 1) % 8 WHEN 0 THEN 'system' WHEN 1 THEN 'window' ELSE 'assistant' END,
    json_object('text', printf('第 %d 步：', i) || replace(hex(zeroblob(300)), '00', '说明')),
    'scanned_no_findings', '2026-11-30', 0, :now_ms - (:rows - i) * 31250
FROM n
"""
_CALLS: Final = """
INSERT INTO tool_calls (id, task_id, turn_seq, position, provider_call_id, tool, arguments,
    protection_status, policy_version, finding_count, arguments_intact, state, created_at_ms)
SELECT printf('c_%08d', i), printf('T-%06d', 1 + (i - 1) / 4), 3 + (i - 1) % 4, 0, 'p',
    'sandbox_exec', '{"sandbox": "dev", "argv": ["make", "test"]}', 'scanned_no_findings',
    '2026-11-30', 0, 1, 'done',
    :now_ms - (:rows - i) * 62500
FROM n
"""
_OUTPUTS: Final = """
INSERT INTO tool_outputs (call_id, task_id, source, content, protection_status, policy_version,
    finding_count, created_at_ms)
SELECT printf('c_%08d', i), printf('T-%06d', 1 + (i - 1) / 4), 'sandbox dev',
    replace(hex(zeroblob(1000)), '00', 'output '), 'scanned_no_findings', '2026-11-30', 0,
    :now_ms - (:rows - i) * 62500
FROM n
"""
_OPERATIONS: Final = """
INSERT INTO operations (id, origin_kind, origin_id, task_id, call_id, action, level, identity,
    plan_hash, plan, protection_status, policy_version, finding_count, state, outcome,
    created_at_ms, started_at_ms, ended_at_ms)
SELECT printf('op-%08d', i), 'task', printf('T-%06d', 1 + (i - 1) / 4),
    printf('T-%06d', 1 + (i - 1) / 4), printf('c_%08d', i), 'sandbox.exec', 'low', 'sandboxd',
    printf('%064x', i), '{"action": "sandbox.exec", "effect": {"argv": ["make", "test"]}}',
    'scanned_no_findings', '2026-11-30', 0, iif(i % 5000, 'succeeded', 'unknown'),
    '{"exit_code": 0}',
    :now_ms - (:rows - i) * 62500, :now_ms - (:rows - i) * 62500,
    :now_ms - (:rows - i) * 62500 + 900
FROM n
"""
_TICKETS: Final = """
INSERT INTO approvals (id, group_id, origin_kind, origin_id, action, plan_hash, plan,
    target_summary, protection_status, policy_version, finding_count, owners, code_digest, state,
    created_at_ms, expires_at_ms)
SELECT printf('K%05d', i), :group_id, 'command', '1', 'sandbox.delete', printf('%064x', i),
    '{"action": "sandbox.delete"}', '沙箱 dev', 'scanned_no_findings', '2026-11-30', 0, '[30001]',
    'd', 'expired',
    :now_ms - (:rows - i) * 900000, :now_ms - (:rows - i) * 900000 + 600000
FROM n
"""
_SENDS: Final = """
INSERT INTO outbox_messages (idempotency_key, message_key, part, parts, group_id, kind, content,
    protection_status, policy_version, finding_count, task_id, state, created_at_ms, updated_at_ms)
SELECT printf('k%d', i), printf('k%d', i), 1, 1, :group_id, 'final', '做完了，一切正常。',
    'scanned_no_findings', '2026-11-30', 0,
    printf('T-%06d', 1 + (i - 1) / 2), iif(i % 999, 'sent', 'dead'),
    :now_ms - (:rows - i) * 125000, :now_ms - (:rows - i) * 125000
FROM n
"""
_AUDIT: Final = """
INSERT INTO audit_events (at_ms, kind, actor, task_id, operation_id, level, detail,
    protection_status, policy_version, finding_count)
SELECT :now_ms - (:rows - i) * 5000, iif(i % 5000, printf('kind.%d', i % 20), 'intake.gap'),
    printf('task:T-%06d', 1 + (i - 1) / 50), printf('T-%06d', 1 + (i - 1) / 50),
    printf('op-%08d', i / 12), iif(i % 100, 'low', 'high'),
    json_object('action', 'sandbox.exec', 'scope', 'sandbox', 'number', i), 'scanned_no_findings',
    '2026-11-30', 0
FROM n
"""
_STEPS: Final = (
    (_MESSAGES, MESSAGES),
    (_TASKS, TASKS),
    (_EVENTS, 4 * TASKS),
    (_SESSION, 8 * TASKS),
    (_CALLS, 4 * TASKS),
    (_OUTPUTS, 4 * TASKS),
    (_OPERATIONS, 4 * TASKS),
    (_TICKETS, TASKS // 4),
    (_SENDS, 2 * TASKS),
    (_AUDIT, EVENTS),
)
_INSERT_TRIGGERS: Final = ("group_messages", "operations")
"""Tables whose triggers stand in the way of finished rows, or take their time."""


def fill(path: Path, *, group_id: int, self_id: int) -> None:
    """Make the database at `path` and fill it."""
    migrate(path)
    with Database.open(path) as db:
        check_target(db, group_id, self_id)
        db.query(_FAST)
        db.query(_CACHE)
        for table in _INSERT_TRIGGERS:
            for row in db.query(_TRIGGERS, {"table": table}):
                db.query(f"DROP TRIGGER {row['name']}")
        bindings = {"group_id": group_id, "now_ms": now_ms()}
        for sql, rows in _STEPS:
            with db.transaction():
                db.change(_NUMBERS + sql, {**bindings, "rows": rows})
        db.truncate_wal()
