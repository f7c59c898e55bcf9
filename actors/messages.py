"""Every message between actors. They carry ids, not rows, and say from whom to whom.

Messages are bells, tables are the truth: what a message announces is committed already, and a lost
message costs a delay until the reconciler rings again.
"""

import threading
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from perlica.domain.cancel import CancelToken
from perlica.domain.ids import MessageId, OperationId, OutboxId, RowId, TaskId, TicketId


@dataclass(frozen=True, slots=True, kw_only=True)
class Ready:
    """Wiring → any actor (ask): answered once `on_start` went well."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Tick:
    """Clock thread → coordinator, ledger, reconciler, outbox, connection: about once a second."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Drain:
    """Supervisor → coordinator, connection: take no new work, the process is about to stop."""


# --- intake -----------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True, kw_only=True)
class FramesWaiting:
    """Connection's reader → protection: the inbound queue holds frames of our group."""


@dataclass(frozen=True, slots=True, kw_only=True)
class TaskRequested:
    """Protection → coordinator. The task's row is committed in state `received`."""

    task: TaskId


@dataclass(frozen=True, slots=True, kw_only=True)
class CommandGiven:
    """Protection → coordinator. The command's row is committed as pending."""

    message_row: RowId


@dataclass(frozen=True, slots=True, kw_only=True)
class React:
    """Protection → connection: put this emoticon on a message, if that is possible now."""

    message_id: MessageId
    emoji_id: int


@dataclass(frozen=True, slots=True, kw_only=True)
class TriggerRecalled:
    """Protection → coordinator. A member recalled this message; its rows are marked."""

    message_row: RowId


# --- the task ---------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True, kw_only=True)
class StepDue:
    """Coordinator → session: do this step of the task (one model turn and its tool calls).

    `cancel` is the flag by which the coordinator stops the step from outside the inbox.
    """

    task: TaskId
    step: int
    cancel: CancelToken


@dataclass(frozen=True, slots=True, kw_only=True)
class StepFinished:
    """Session → coordinator. What the step wrote is committed; `step` fences late ones out.

    `again_later`: the database took no write, so the step waits for the next tick.
    """

    task: TaskId
    step: int
    again_later: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class WorkOver:
    """Coordinator → session. The task's end is committed: what was kept for its work may go.

    The session may be idle then, for the task waited for an Owner; it may be told twice.
    """

    task: TaskId


# --- approval ---------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True, kw_only=True)
class Decide:
    """Coordinator → ledger. A member said `.approve` or `.deny`; the command's row is pending.

    The ledger decides, answers and marks the command done in one transaction; it may be told the
    same twice.
    """

    message_row: RowId


@dataclass(frozen=True, slots=True, kw_only=True)
class TicketDecided:
    """Ledger → coordinator. The ticket's row is committed: approved, denied, expired or void."""

    ticket: TicketId
    task: TaskId | None


@dataclass(frozen=True, slots=True, kw_only=True)
class ApprovalUndeliverable:
    """Outbox → coordinator. The group will never read this ticket's question."""

    ticket: TicketId
    task: TaskId | None


# --- sandboxes --------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True, kw_only=True)
class Act:
    """Gateway's port → serializer: a queued operation for this slot; `done` is set at its end."""

    operation: OperationId
    request: Any = field(repr=False)
    reply: Any = field(repr=False)


@dataclass(frozen=True, slots=True, kw_only=True)
class SandboxOrdered:
    """Coordinator → reconciler. An Owner's `.sbx`, `.image`, `.orphans` or `.node` is pending.

    The reconciler carries it out, answers and marks the command done; it may be told twice.
    """

    message_row: RowId


# --- sending ----------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True, kw_only=True)
class OutboxRung:
    """Anybody → outbox: rows may be due."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Send:
    """Outbox → connection: put this frame on the wire and answer with SendAnswered.

    `frame` is complete and protected; the row's attempt is committed.
    """

    outbox: OutboxId
    attempt: int
    frame: Mapping[str, Any] = field(repr=False)
    within_s: float


@dataclass(frozen=True, slots=True, kw_only=True)
class SendAnswered:
    """Connection → outbox: NapCat's response, or None with what happened instead.

    `wrote` says whether any byte may have left; with `wrote` False nothing was sent.
    """

    outbox: OutboxId
    attempt: int
    wrote: bool
    response: Mapping[str, Any] | None = field(repr=False)
    fault: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Look:
    """Outbox → connection: one allow-listed read (history look-up); answered with Seen."""

    key: str
    action: str
    params: Mapping[str, Any] = field(repr=False)
    within_s: float


@dataclass(frozen=True, slots=True, kw_only=True)
class Seen:
    """Connection → outbox: the answer to Look, None when there was none."""

    key: str
    response: Mapping[str, Any] | None = field(repr=False)


@dataclass(frozen=True, slots=True, kw_only=True)
class SelfMessageSeen:
    """Protection → outbox: our own account's message arrived as an event."""

    message_id: MessageId
    text_sha256: str
    sent_at_ms: int


@dataclass(frozen=True, slots=True, kw_only=True)
class GroupNotice:
    """Protection → outbox: something that changes whether we may send.

    `kind` is muted | unmuted | removed; `until_ms` bounds a mute.
    """

    kind: str
    until_ms: int | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class ConnectionChanged:
    """Connection → outbox, reconciler: ready (we may send) or not, with the reason."""

    ready: bool
    reason: str


# --- supervision ------------------------------------------------------------------------------


class Bell:
    """An event that any thread may ring and one waits for; rings are counted together."""

    def __init__(self) -> None:
        """Start silent."""
        self._event = threading.Event()

    def ring(self) -> None:
        """Wake the waiter."""
        self._event.set()

    def wait(self, within_s: float) -> bool:
        """Wait at most `within_s` seconds; whether it rang. Clears it."""
        rang = self._event.wait(within_s)
        self._event.clear()
        return rang
