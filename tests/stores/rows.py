"""Rows as the tests of the stores need them: messages, tasks, tickets, operations, sandboxes."""

from collections.abc import Sequence
from itertools import count
from pathlib import Path

from perlica.domain.approval import digest_code
from perlica.domain.clock import now_ms
from perlica.domain.ids import (
    CallId,
    GroupId,
    MessageId,
    OperationId,
    PlanHash,
    RowId,
    SandboxName,
    TaskId,
    TicketId,
    UserId,
    new_operation_id,
)
from perlica.domain.message import IncomingGroupMessage, Segment, SegmentKind
from perlica.domain.plan import Level, Origin
from perlica.domain.ports import SANDBOX_EXECUTOR
from perlica.domain.sandbox import SandboxImage, SandboxLimits, SandboxSpec
from perlica.domain.task import TaskState
from perlica.protection import Channel, Protected, protect
from perlica.stores.approvals import ApprovalStore, NewTicket, Ticket
from perlica.stores.database import Database
from perlica.stores.messages import MessageKind, MessageStore, StoredAttachment
from perlica.stores.operations import NewOperation, Operation, OperationStore
from perlica.stores.sandboxes import SandboxRow, SandboxStore
from perlica.stores.tasks import Task, TaskStore

ROOT = Path(__file__).parents[2]
GROUP = GroupId(700_000_001)
OTHER_GROUP = GroupId(700_000_002)
SELF = UserId(10_001)
OWNER = UserId(20_001)
SECOND_OWNER = UserId(20_002)
STRANGER = UserId(30_001)
CODE = "424242"
HASH = PlanHash("a" * 64)
IMAGE = SandboxImage(
    reference="local/base", digest="sha256:" + "1" * 64, introduction="", revision=1
)
LIMITS = SandboxLimits(
    memory_bytes=1 << 28, pids=64, cpu_millis=500, disk_bytes=1 << 30, nofile=256
)
_numbers = count(1)


def sealed(text: str) -> Protected:
    return protect(text, Channel.MESSAGE)


def sealed_json(**fields: str | int) -> Protected:
    return protect(fields, Channel.AUDIT)


def message(
    text: str = "hello",
    *,
    message_id: int | None = None,
    real_seq: int | None = -1,
    sent_at_ms: int | None = None,
    user_id: UserId = OWNER,
    group_id: GroupId = GROUP,
    quotes: int | None = None,
) -> IncomingGroupMessage:
    """A message with a number of its own; `real_seq` -1 stands for "the same number"."""
    number = next(_numbers)
    quote = [] if quotes is None else [Segment(kind=SegmentKind.reply, target=quotes)]
    return IncomingGroupMessage(
        group_id=group_id,
        message_id=MessageId(number if message_id is None else message_id),
        real_seq=number if real_seq == -1 else real_seq,
        user_id=user_id,
        self_id=SELF,
        sent_at_ms=now_ms() if sent_at_ms is None else sent_at_ms,
        display_name="someone",
        segments=(*quote, Segment(kind=SegmentKind.text, text=text)),
    )


def store(
    db: Database,
    incoming: IncomingGroupMessage | str,
    *,
    kind: MessageKind = "chat",
    content: Protected | None = None,
    attachments: Sequence[StoredAttachment] = (),
) -> RowId | None:
    """Store a message in a transaction of its own."""
    arrived = message(incoming) if isinstance(incoming, str) else incoming
    with db.transaction():
        return MessageStore(db).insert_message(
            arrived,
            kind=kind,
            display_name=sealed(arrived.display_name),
            content=sealed(arrived.plain_text) if content is None else content,
            attachments=tuple(attachments),
        )


def stored(
    db: Database, incoming: IncomingGroupMessage | str, *, kind: MessageKind = "chat"
) -> RowId:
    row = store(db, incoming, kind=kind)
    assert row is not None
    return row


def begin_task(db: Database) -> Task:
    """A task in state `received`, with its trigger."""
    row = stored(db, "@Perlica do it", kind="trigger")
    with db.transaction():
        task = TaskStore(db).create_task(
            trigger_row=row,
            requester_id=OWNER,
            group_id=GROUP,
            policy_version="p1",
            context_version="c1",
        )
    assert task is not None
    return task


def move(db: Database, task: TaskId, *states: TaskState) -> Task:
    """Walk a task through states, each move in a transaction of its own."""
    tasks = TaskStore(db)
    for state in states:
        now = tasks.find_task(task)
        assert now is not None
        with db.transaction():
            tasks.move_task(task, before=now.state, after=state)
    moved = tasks.find_task(task)
    assert moved is not None
    return moved


def end_task(db: Database, task: TaskId) -> Task:
    return move(db, task, TaskState.cancelled)


def new_ticket(
    *, task: TaskId | None = None, call: str | None = None, ticket: str | None = None
) -> NewTicket:
    """A ticket of a task, or of an Owner's command where there is no task."""
    origin = Origin(kind="command", id="1") if task is None else Origin(kind="task", id=task)
    number = TicketId(f"K{next(_numbers):04d}" if ticket is None else ticket)
    return NewTicket(
        id=number,
        group_id=GROUP,
        origin=origin,
        task_id=task,
        call_id=None if call is None else CallId(call),
        action="sandbox.delete",
        plan_hash=HASH,
        plan=sealed_json(action="sandbox.delete"),
        target_summary=sealed("sandbox dev"),
        owners=frozenset({OWNER, SECOND_OWNER}),
        code_digest=digest_code(number, CODE),
    )


def draw(db: Database, ticket: NewTicket | None = None) -> Ticket:
    with db.transaction():
        return ApprovalStore(db).insert_ticket(new_ticket() if ticket is None else ticket)


def approve(db: Database, ticket: Ticket) -> None:
    with db.transaction():
        ApprovalStore(db).decide(
            ticket.id,
            decision="approved",
            user=OWNER,
            code_digest=ticket.code_digest,
            now_ms=now_ms(),
            owners_today=frozenset({OWNER}),
        )


def spend(db: Database, ticket: Ticket) -> None:
    with db.transaction():
        ApprovalStore(db).consume(ticket.id, plan_hash=HASH, now_ms=now_ms())


def new_operation(
    *,
    level: Level = Level.low,
    ticket: TicketId | None = None,
    call: str | None = None,
    task: TaskId | None = None,
) -> NewOperation:
    return NewOperation(
        id=new_operation_id(),
        origin=Origin(kind="command", id="1"),
        task_id=task,
        call_id=None if call is None else CallId(call),
        action="sandbox.exec",
        level=level,
        identity="sandboxd",
        executor=SANDBOX_EXECUTOR,
        plan_hash=HASH,
        plan=sealed_json(action="sandbox.exec"),
        ticket_id=ticket,
    )


def queue(db: Database, operation: NewOperation | None = None) -> Operation:
    with db.transaction():
        return OperationStore(db).insert_operation(operation or new_operation())


def start(db: Database, operation: OperationId) -> None:
    with db.transaction():
        OperationStore(db).start(operation)


def spec(name: str = "dev") -> SandboxSpec:
    return SandboxSpec(name=SandboxName(name), purpose="", node="node-1", limits=LIMITS)


def reserve(db: Database, name: str = "dev") -> SandboxRow:
    with db.transaction():
        sandboxes = SandboxStore(db)
        sandboxes.set_image(IMAGE)
        return sandboxes.reserve(spec(name), IMAGE, sealed("building"))
