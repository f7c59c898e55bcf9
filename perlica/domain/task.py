"""The states of a task and the moves between them: `tasks.state` holds these words.

Every move is a compare-and-set in `perlica.stores.tasks`; a move that is not listed is a fault.
"""

from enum import StrEnum
from typing import Final


class TaskState(StrEnum):
    """The last three are final."""

    received = "received"
    contextualizing = "contextualizing"
    running = "running"
    waiting_approval = "waiting_approval"
    completing = "completing"
    completed = "completed"
    failed = "failed"
    cancelled = "cancelled"


FINAL_STATES = frozenset({TaskState.completed, TaskState.failed, TaskState.cancelled})

_ENDINGS = frozenset({TaskState.failed, TaskState.cancelled})

MOVES: dict[TaskState, frozenset[TaskState]] = {
    TaskState.received: frozenset({TaskState.contextualizing}) | _ENDINGS,
    TaskState.contextualizing: frozenset({TaskState.running}) | _ENDINGS,
    TaskState.running: frozenset({TaskState.waiting_approval, TaskState.completing}) | _ENDINGS,
    TaskState.waiting_approval: frozenset({TaskState.running}) | _ENDINGS,
    TaskState.completing: frozenset({TaskState.completed}) | _ENDINGS,
    TaskState.completed: frozenset(),
    TaskState.failed: frozenset(),
    TaskState.cancelled: frozenset(),
}


class EndReason(StrEnum):
    """Why a task ended, as stored and shown; budgets name themselves."""

    answered = "answered"
    approval_denied = "approval_denied"
    approval_expired = "approval_expired"
    approval_void = "approval_void"
    cancelled_by_member = "cancelled_by_member"
    recalled = "recalled"
    wall_time = "wall_time"
    model_calls = "model_calls"
    tool_calls = "tool_calls"
    tokens = "tokens"
    repeated_calls = "repeated_calls"
    model_failed = "model_failed"
    model_refused = "model_refused"
    model_key = "model_key"
    model_forbidden = "model_forbidden"
    model_balance = "model_balance"
    model_unknown = "model_unknown"
    model_settings = "model_settings"
    model_rate_limited = "model_rate_limited"
    model_overloaded = "model_overloaded"
    model_server_error = "model_server_error"
    model_connection_refused = "model_connection_refused"
    model_dns = "model_dns"
    model_tls = "model_tls"
    model_unreachable = "model_unreachable"
    model_timeout = "model_timeout"
    model_bad_answer = "model_bad_answer"
    model_filtered = "model_filtered"
    model_input_too_long = "model_input_too_long"
    incomplete_answer = "incomplete_answer"
    empty_answer = "empty_answer"
    protection_failed = "protection_failed"
    protection_altered = "protection_altered"
    outcome_unknown = "outcome_unknown"
    crashed_repeatedly = "crashed_repeatedly"
    approval_undeliverable = "approval_undeliverable"
    internal_fault = "internal_fault"
    too_large = "too_large"
    restored = "restored"


UNMET: Final = frozenset(
    {EndReason.approval_denied, EndReason.approval_expired, EndReason.approval_void}
)
"""Ends with an answer, but without the action that was asked for."""


def may_move(before: TaskState, after: TaskState) -> bool:
    """Whether a task may go from one state straight to the other."""
    return after in MOVES[before]
