"""Writes rows as the service does, through the stores, at any moment of the past."""

from collections.abc import Iterator
from contextlib import contextmanager
from datetime import UTC, datetime, timedelta
from pathlib import Path

import time_machine

from perlica.domain.approval import digest_code
from perlica.domain.clock import now_ms
from perlica.domain.ids import (
    GroupId,
    MessageId,
    OperationId,
    PlanHash,
    RowId,
    SandboxName,
    TaskId,
    TicketId,
    UserId,
    new_call_id,
    new_operation_id,
)
from perlica.domain.message import IncomingGroupMessage, Segment, SegmentKind
from perlica.domain.operation import OperationState
from perlica.domain.outbox import OutboxKind
from perlica.domain.plan import Level, Origin
from perlica.domain.ports import SANDBOX_EXECUTOR
from perlica.domain.sandbox import SandboxImage, SandboxLimits, SandboxSpec, SandboxState
from perlica.domain.task import TaskState
from perlica.protection import Channel, JsonValue, Protected, protect
from perlica.stores.approvals import ApprovalStore, NewTicket
from perlica.stores.audit import AuditStore
from perlica.stores.database import Database
from perlica.stores.messages import MessageStore
from perlica.stores.migrations import check_target, migrate
from perlica.stores.operations import NewOperation, OperationStore
from perlica.stores.outbox import OutboxStore
from perlica.stores.sandboxes import SandboxStore
from perlica.stores.sessions import NewCall, SessionStore
from perlica.stores.tasks import TaskStore
from perlica.stores.viewers import ViewerStore, digest_token

GROUP, SELF = GroupId(700_000_001), UserId(10_001)
OWNER, OTHER_OWNER = UserId(30_001), UserId(30_002)
TOKEN = "perlica-viewer-a-token-for-tests-that-nobody-else-has"
VIEWER = "小明"
CODE = "424242"
POLICY_VERSION = "3"
HASH = PlanHash("9f" * 32)
IMAGE = SandboxImage(
    reference="registry.internal/perlica/dev",
    digest="sha256:" + "4e7a" * 16,
    introduction="Debian 12，gcc、make、python3、git",
    revision=3,
)
OLD_IMAGE = SandboxImage(
    reference="registry.internal/perlica/dev",
    digest="sha256:" + "01bc" * 16,
    introduction="Debian 11",
    revision=2,
)
LIMITS = SandboxLimits(
    memory_bytes=512 << 20, pids=256, cpu_millis=1000, disk_bytes=1 << 30, nofile=1024
)


def sealed(text: str) -> Protected:
    return protect(text, Channel.MESSAGE)


def sealed_json(value: dict[str, JsonValue]) -> Protected:
    return protect(value, Channel.AUDIT)


def make_database(path: Path) -> Path:
    """A migrated database with its group and one viewer."""
    migrate(path)
    with Database.open(path) as db:
        check_target(db, GROUP, SELF)
        add_viewer(db)
    return path


def add_viewer(db: Database, name: str = VIEWER, token: str = TOKEN) -> None:
    with db.transaction():
        digest = digest_token(token)
        ViewerStore(db).add(name, token_digest=digest, lifetime_ms=90 * 86_400_000)


@contextmanager
def at(moment: datetime) -> Iterator[None]:
    """The clock stands at a moment of the past."""
    with time_machine.travel(moment, tick=False):
        yield


class Seeder:
    """Writes rows over one connection."""

    def __init__(self, db: Database) -> None:
        self.db = db
        self.tasks, self.sessions = TaskStore(db), SessionStore(db)
        self.operations, self.tickets = OperationStore(db), ApprovalStore(db)
        self.sandboxes, self.outbox, self.audit = SandboxStore(db), OutboxStore(db), AuditStore(db)
        self._number = 0

    def say(self, text: str, *, user: UserId = OWNER, kind: str = "chat") -> RowId:
        self._number += 1
        message = IncomingGroupMessage(
            group_id=GROUP,
            message_id=MessageId(self._number),
            real_seq=self._number,
            user_id=user,
            self_id=SELF,
            sent_at_ms=now_ms(),
            display_name="林小明" if user == OWNER else "阿杰",
            segments=(Segment(kind=SegmentKind.text, text=text),),
        )
        with self.db.transaction():
            row = MessageStore(self.db).insert_message(
                message,
                kind="trigger" if kind == "trigger" else "chat",
                display_name=sealed(message.display_name),
                content=sealed(text),
                attachments=(),
            )
        assert row is not None
        return row

    def begin(self, text: str, *, user: UserId = OWNER) -> TaskId:
        # A mention is kept as the number of the account.
        row = self.say(f"@{SELF} {text}", user=user, kind="trigger")
        with self.db.transaction():
            task = self.tasks.create_task(
                trigger_row=row,
                requester_id=user,
                group_id=GROUP,
                policy_version=POLICY_VERSION,
                context_version="1",
            )
            assert task is not None
            self.tasks.set_window_facts(
                task.id,
                {
                    "messages": 12,
                    "code_points": 1834,
                    "cut_by": "age",
                    "left_out": 3,
                    "quoted": "none",
                },
            )
        self.move(task.id, TaskState.contextualizing, TaskState.running)
        return task.id

    def move(self, task: TaskId, *states: TaskState, reason: str = "") -> None:
        for state in states:
            now = self.tasks.find_task(task)
            assert now is not None
            with self.db.transaction():
                self.tasks.move_task(task, before=now.state, after=state, reason=reason)

    def use(self, task: TaskId, model: int, tools: int, tokens: tuple[int, int]) -> None:
        with self.db.transaction():
            self.tasks.add_usage(
                task,
                model_calls=model,
                tool_calls=tools,
                input_tokens=tokens[0],
                output_tokens=tokens[1],
            )

    def turn(
        self, task: TaskId, kind: str, body: dict[str, JsonValue], calls: tuple[NewCall, ...] = ()
    ) -> None:
        assert kind in {"system", "window", "assistant", "note"}
        with self.db.transaction():
            seq = self.sessions.append_event(task, kind=kind, body=sealed_json(body))  # type: ignore[arg-type]
            self.sessions.insert_calls(task, seq, calls)

    def call(self, tool: str, arguments: dict[str, JsonValue], position: int = 0) -> NewCall:
        return NewCall(
            id=new_call_id(),
            position=position,
            provider_call_id=f"call_{self._number}_{position}",
            tool=tool,
            arguments=protect(arguments, Channel.TOOL_ARGUMENTS),
            arguments_intact=True,
        )

    def execute(
        self,
        task: TaskId | None,
        call: NewCall | None,
        *,
        action: str,
        plan: dict[str, JsonValue],
        outcome: dict[str, JsonValue] | None,
        level: Level = Level.low,
        ticket: TicketId | None = None,
        sandbox: RowId | None = None,
        kind: str = "exec",
        took_ms: int = 840,
    ) -> OperationId:
        """One executed operation; without an outcome it ends as unknown."""
        operation, began = new_operation_id(), datetime.now(UTC)
        with self.db.transaction():
            self.operations.insert_operation(
                NewOperation(
                    id=operation,
                    origin=Origin(kind="task" if task else "command", id=task or "31"),
                    task_id=task,
                    call_id=call.id if call else None,
                    action=action,
                    level=level,
                    identity="sandboxd",
                    executor=SANDBOX_EXECUTOR,
                    plan_hash=HASH,
                    plan=sealed_json(plan),
                    ticket_id=ticket,
                )
            )
            if sandbox is not None:
                self.sandboxes.insert_operation(operation, sandbox, kind, is_write=True)  # type: ignore[arg-type]
            self.audit.add_event(
                "operation.planned",
                actor=f"task:{task}" if task else "member:30001",
                detail=sealed_json({"action": action, "scope": "sandbox", "plan_hash": HASH}),
                task_id=task,
                ticket_id=ticket,
                operation_id=operation,
                level=level,
            )
            self.operations.start(operation)
        with at(began + timedelta(milliseconds=took_ms)), self.db.transaction():
            if outcome is None:
                self.operations.mark_unknown(operation, "backend_silent")
            else:
                self.operations.finish(operation, OperationState.succeeded, sealed_json(outcome))
        return operation

    def give(self, task: TaskId, call: NewCall, text: str, source: str) -> None:
        with self.db.transaction():
            self.sessions.insert_output(
                call.id, task, source=source, content=protect(text, Channel.TOOL_RESULT)
            )

    def draw(self, task: TaskId, call: NewCall, action: str, sandbox: str) -> TicketId:
        """A pending ticket; its summary is cut before the name, as long ones are."""
        ticket = TicketId(f"K{self._number:04d}"[:5])
        with self.db.transaction():
            self.tickets.insert_ticket(
                NewTicket(
                    id=ticket,
                    group_id=GROUP,
                    origin=Origin(kind="task", id=task),
                    task_id=task,
                    call_id=call.id,
                    action=action,
                    plan_hash=HASH,
                    plan=sealed_json(
                        {
                            "action": action,
                            "target": {
                                "image_digest": IMAGE.digest,
                                "image_revision": IMAGE.revision,
                                "instance": "b2f1c0",
                                "node": "node-1",
                                "sandbox": sandbox,
                            },
                            "scope": "sandbox",
                            "effect": {"wipe": True},
                            "destination": "node-1",
                            "policy_version": POLICY_VERSION,
                        }
                    ),
                    target_summary=sealed(f"{action} image_digest={IMAGE.digest}, …"),
                    owners=frozenset({OWNER, OTHER_OWNER}),
                    code_digest=digest_code(ticket, CODE),
                )
            )
            self.audit.add_event(
                "ticket.asked",
                actor="gateway",
                detail=sealed_json({"action": action, "plan_hash": HASH}),
                task_id=task,
                ticket_id=ticket,
                level=Level.high,
            )
            self.outbox.enqueue(
                key=f"ticket:{ticket}",
                kind=OutboxKind.approval,
                content=sealed(f"需要审批：删除沙箱\n.approve {ticket} {CODE}\n.deny {ticket}"),
                task_id=task,
                ticket_id=ticket,
            )
        return ticket

    def send(self, key: str, kind: OutboxKind, text: str, task: TaskId | None = None) -> None:
        with self.db.transaction():
            self.outbox.enqueue(key=key, kind=kind, content=sealed(text), task_id=task)

    def reserve(self, name: str, purpose: str, image: SandboxImage = IMAGE) -> RowId:
        with self.db.transaction():
            self.sandboxes.set_image(image)
            spec = SandboxSpec(
                name=SandboxName(name), purpose=purpose, node="node-1", limits=LIMITS
            )
            return self.sandboxes.reserve(spec, image, sealed(purpose)).id

    def settle(self, sandbox: RowId, *states: SandboxState, reason: str = "") -> None:
        for state in states:
            row = self.sandboxes.find(sandbox)
            assert row is not None
            with self.db.transaction():
                self.sandboxes.move(
                    sandbox, before=row.state, after=state, reason=reason, instance="b2f1c0"
                )
