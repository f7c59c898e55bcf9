"""Counting: the rows that followers give out become counters and histograms.

Columns that can hold text of people or models are not read, but for one: where protection replaced
something, the placeholders are counted by their kind.
"""

import re
from collections.abc import Callable, Sequence
from typing import Final

from perlica.domain.approval import TicketState
from perlica.domain.operation import OperationState
from perlica.domain.outbox import OutboxKind, OutboxState
from perlica.domain.task import UNMET, EndReason, TaskState
from perlica.health.following import Followed, Follower
from perlica.health.instruments import Tallies
from perlica.health.words import OTHER, Words
from perlica.protection.rules import is_kind
from perlica.stores.database import Database, Row

_PLACEHOLDER: Final = re.compile("⟦凭据:([a-z0-9_]{2,40}):[0-9]{1,5}⟧".encode())
_MAX_ACTIONS: Final = 64
_MAX_CODES: Final = 64
_MESSAGE_KINDS: Final = frozenset({"chat", "trigger", "control", "quarantined"})
_SETTLED_SENDS: Final = (OutboxState.sent, OutboxState.refused, OutboxState.dead)
_SETTLED_TICKETS: Final = (
    TicketState.consumed,
    TicketState.denied,
    TicketState.expired,
    TicketState.void,
)
_UNSCANNED: Final = "scan_incomplete"
_REFUSED_CALL: Final = "call.refused"

# A text is read only where something in it was replaced.
_REPLACED: Final = "iif(finding_count > 0, CAST(content AS BLOB), NULL) AS replaced"

MESSAGES: Final = Followed(
    table="group_messages",
    columns=f"kind, protection_status, stored_at_ms - sent_at_ms AS delay_ms, {_REPLACED}",
)
OUTPUTS: Final = Followed(table="tool_outputs", columns=_REPLACED)
AUDIT: Final = Followed(
    table="audit_events",
    columns=f"kind, iif(kind = '{_REFUSED_CALL}', json_extract(detail, '$.code'), NULL) AS code",
)
TASKS: Final = Followed(
    table="tasks",
    columns="""state, end_reason, ended_at_ms - created_at_ms AS took_ms, active_ms,
        model_calls, tool_calls, input_tokens, output_tokens""",
    open_while="state NOT IN ('completed', 'failed', 'cancelled')",
    index="one_active_task",
)
OPERATIONS: Final = Followed(
    table="operations",
    columns="action, state, ended_at_ms - started_at_ms AS took_ms",
    open_while="state IN ('queued', 'started', 'unknown')",
    index="operations_open",
)
TICKETS: Final = Followed(
    table="approvals",
    columns="state, decided_at_ms - created_at_ms AS took_ms",
    open_while="state IN ('pending', 'approved')",
    index="approvals_living",
)
SENDS: Final = Followed(
    table="outbox_messages",
    columns="""kind, state, attempt, possible_duplicate, updated_at_ms - created_at_ms AS took_ms,
        iif(finding_count > 0, CAST(content AS BLOB), NULL) AS replaced""",
    open_while="state IN ('queued', 'sending', 'unknown')",
    index="outbox_messages_open",
)


class Counting:
    """All followers and what is counted of their rows. Belongs to the holder of a lock."""

    def __init__(self, tallies: Tallies) -> None:
        """Count into these; `begin` comes first."""
        self._tallies = tallies
        _begin_at_zero(tallies)
        self._actions = Words(_MAX_ACTIONS)
        self._codes = Words(_MAX_CODES)
        self._kinds = Words(_MAX_CODES)
        self._followers: Sequence[tuple[Follower, Callable[[Row], None]]] = (
            (Follower(MESSAGES), self._count_message),
            (Follower(OUTPUTS), self._count_output),
            (Follower(AUDIT), self._count_event),
            (Follower(TASKS), self._count_task),
            (Follower(OPERATIONS), self._count_operation),
            (Follower(TICKETS), self._count_ticket),
            (Follower(SENDS), self._count_send),
        )

    def begin(self, database: Database) -> None:
        """What is there already belongs to an earlier process."""
        for follower, _ in self._followers:
            follower.begin(database)

    def advance(self, database: Database) -> None:
        """Count what has settled since the last call."""
        for follower, count in self._followers:
            for row in follower.take(database):
                count(row)

    def _count_message(self, row: Row) -> None:
        kind = row["kind"] if row["kind"] in _MESSAGE_KINDS else OTHER
        self._tallies.messages.labels(kind).inc()
        self._tallies.intake.observe(max(0, row["delay_ms"]) / 1000)
        if row["protection_status"] == _UNSCANNED:
            self._tallies.unscanned.inc()
        self._count_redactions(row, "message")

    def _count_output(self, row: Row) -> None:
        self._count_redactions(row, "tool_output")

    def _count_redactions(self, row: Row, place: str) -> None:
        """Each replaced value of a text once, however often it stands there."""
        places = {found[0]: found[1] for found in _PLACEHOLDER.finditer(row["replaced"] or b"")}
        for kind in places.values():
            word = kind.decode("ascii")
            label = word if is_kind(word) else OTHER
            self._tallies.redactions.labels(label, place).inc()

    def _count_event(self, row: Row) -> None:
        self._tallies.events.labels(self._kinds.admit(row["kind"])).inc()
        if row["kind"] == _REFUSED_CALL:
            self._tallies.refusals.labels(self._codes.admit(row["code"])).inc()

    def _count_task(self, row: Row) -> None:
        tallies = self._tallies
        reason = row["end_reason"]
        label = reason if reason in EndReason.__members__.values() else OTHER
        tallies.tasks.labels(TaskState(row["state"]).value, label).inc()
        tallies.task_seconds.observe(max(0, row["took_ms"]) / 1000)
        tallies.task_busy.observe(row["active_ms"] / 1000)
        tallies.model_calls.inc(row["model_calls"])
        tallies.tool_calls.inc(row["tool_calls"])
        tallies.tokens.labels("input").inc(row["input_tokens"])
        tallies.tokens.labels("output").inc(row["output_tokens"])

    def _count_operation(self, row: Row) -> None:
        action = self._actions.admit(row["action"])
        self._tallies.operations.labels(action, OperationState(row["state"]).value).inc()
        if row["took_ms"] is not None:
            self._tallies.operation_seconds.labels(action).observe(max(0, row["took_ms"]) / 1000)

    def _count_ticket(self, row: Row) -> None:
        self._tallies.tickets.labels(TicketState(row["state"]).value).inc()
        if row["took_ms"] is not None:
            self._tallies.ticket_seconds.observe(max(0, row["took_ms"]) / 1000)

    def _count_send(self, row: Row) -> None:
        state = OutboxState(row["state"])
        self._tallies.sends.labels(OutboxKind(row["kind"]).value, state.value).inc()
        self._tallies.attempts.inc(row["attempt"])
        if state is OutboxState.sent:
            self._tallies.send_seconds.observe(max(0, row["took_ms"]) / 1000)
        if row["possible_duplicate"]:
            self._tallies.doubled.inc()
        self._count_redactions(row, "sent")


def _begin_at_zero(tallies: Tallies) -> None:
    """Show what has not happened yet: Prometheus cannot see a series rise that begins with one."""
    for kind in _MESSAGE_KINDS:
        tallies.messages.labels(kind)
    for direction in ("input", "output"):
        tallies.tokens.labels(direction)
    for ticket in _SETTLED_TICKETS:
        tallies.tickets.labels(ticket.value)
    for send in OutboxKind:
        for outcome in _SETTLED_SENDS:
            tallies.sends.labels(send.value, outcome.value)
    for reason in EndReason:
        with_answer = reason is EndReason.answered or reason in UNMET
        state = TaskState.completed if with_answer else TaskState.failed
        tallies.tasks.labels(state.value, reason.value)
