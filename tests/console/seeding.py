"""A database as weeks of service leave it, made by the stores themselves under a moved clock."""

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from pathlib import Path

import time_machine

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
    new_call_id,
    new_operation_id,
)
from perlica.domain.message import IncomingGroupMessage, Segment, SegmentKind
from perlica.domain.node import NodeState
from perlica.domain.operation import OperationState
from perlica.domain.outbox import OutboxKind
from perlica.domain.plan import Level, Origin
from perlica.domain.sandbox import SandboxImage, SandboxLimits, SandboxSpec, SandboxState
from perlica.domain.task import TaskState
from perlica.protection import Channel, JsonValue, Protected, not_scanned, protect
from perlica.stores.approvals import ApprovalStore, NewTicket
from perlica.stores.audit import AuditStore
from perlica.stores.database import Database
from perlica.stores.image_switches import (
    Doomed,
    ImageSwitchStore,
    NewSwitch,
    SwitchState,
)
from perlica.stores.messages import MessageKey, MessageStore
from perlica.stores.migrations import check_target, migrate
from perlica.stores.nodes import NodeStore
from perlica.stores.operations import NewOperation, OperationStore
from perlica.stores.orphans import OrphanStore
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
REQUESTS = (
    "跑一下 tests 目录下的全部测试，把失败的用例列出来",
    "看看昨天的构建日志里为什么会超时",
    "把 README 里的安装步骤在沙箱里走一遍，告诉我哪一步不对",
    "查一下群里上周说的端口号是多少",
    "用 gcc 编译 main.c 并运行",
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Seeded:
    """What a test may ask for by name."""

    path: Path
    finished: TaskId
    active: TaskId
    ticket: TicketId
    spent: TicketId
    operation: OperationId
    unknown: OperationId
    call: CallId
    sandbox: RowId


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
        row = self.say(f"@Perlica {text}", user=user, kind="trigger")
        with self.db.transaction():
            task = self.tasks.create_task(
                trigger_row=row,
                requester_id=user,
                group_id=GROUP,
                policy_version="2026-11-30",
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
        operation = new_operation_id()
        began = datetime.now(UTC)
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

    def draw(self, task: TaskId, call: NewCall, action: str, target: str) -> TicketId:
        """A pending ticket."""
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
                            "target": {"sandbox": "dev", "instance": "b2f1c0"},
                            "scope": "sandbox",
                            "effect": {"wipe": True},
                            "destination": "node-1",
                        }
                    ),
                    target_summary=sealed(target),
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


def seed(path: Path) -> Seeded:
    """Fill a database as `Seeded` says; everything ends a minute ago at the latest."""
    now = datetime.now(UTC)
    with Database.open(path) as db:
        seeder = Seeder(db)
        _past(seeder, now)
        sandbox = _sandboxes(seeder, now)
        finished, operation, spent, call = _finished(seeder, now, sandbox)
        unknown = _troubles(seeder, now, sandbox)
        active, ticket = _active(seeder, now, sandbox)
    return Seeded(
        path=path,
        finished=finished,
        active=active,
        ticket=ticket,
        spent=spent,
        operation=operation,
        unknown=unknown,
        call=call,
        sandbox=sandbox,
    )


def _past(seeder: Seeder, now: datetime) -> None:
    """Two weeks of tasks, messages and secrets that were redacted."""
    ends = [
        (TaskState.completed, "answered"),
        (TaskState.completed, "answered"),
        (TaskState.completed, "answered"),
        (TaskState.failed, "wall_time"),
        (TaskState.cancelled, "cancelled_by_member"),
    ]
    for number in range(38):
        began = now - timedelta(hours=8 * (40 - number), minutes=7 * number)
        state, reason = ends[number * 7 % 5]
        with at(began):
            task = seeder.begin(
                REQUESTS[number % len(REQUESTS)], user=(OWNER, OTHER_OWNER)[number % 2]
            )
            model, tools = 2 + number * 5 % 9, 1 + number * 3 % 7
            seeder.use(task, model, tools, (model * 2100 + 40 * number, model * 310))
            if number % 3 == 0:
                seeder.say(f"数据库密码: hunter{number}xQ9!a")
            if number % 4 == 0:
                seeder.say("curl -H 'Authorization: Bearer ghp_" + "a1B2c3D4e5F6" * 3 + "' x")
        with at(began + timedelta(seconds=20 + number * 13 % 200)):
            if state is TaskState.completed:
                seeder.move(task, TaskState.completing)
            seeder.move(task, state, reason=reason)
            with seeder.db.transaction():
                seeder.audit.add_event(
                    "task.ended",
                    actor="perlica",
                    detail=sealed_json({"reason": reason}),
                    task_id=task,
                )


def _sandboxes(seeder: Seeder, now: datetime) -> RowId:
    with at(now - timedelta(days=9)):
        gone = seeder.reserve("scratch", "临时试验", OLD_IMAGE)
        seeder.settle(gone, SandboxState.ready, SandboxState.deleting, SandboxState.deleted)
    with at(now - timedelta(days=6, hours=3)):
        idle = seeder.reserve("docs", "生成文档站点，偶尔用")
        seeder.settle(idle, SandboxState.ready)
    with at(now - timedelta(days=3)):
        dev = seeder.reserve("dev", "构建和测试主仓库：gcc、make、pytest")
        seeder.settle(dev, SandboxState.ready)
    with at(now - timedelta(hours=5)):
        orphan = seeder.reserve("bench", "性能测试")
        seeder.settle(
            orphan,
            SandboxState.ready,
            SandboxState.deleting,
            SandboxState.unconfirmed,
            reason="backend_silent",
        )
        row = seeder.sandboxes.find(orphan)
        assert row is not None
        with seeder.db.transaction():
            OrphanStore(seeder.db).note(row, "unconfirmed", "backend_silent", failed=True)
    _nodes(seeder, now)
    return dev


def _nodes(seeder: Seeder, now: datetime) -> None:
    nodes = NodeStore(seeder.db)
    looks = {"node-1": NodeState.alive, "node-2": NodeState.unreachable}
    for name, state in looks.items():
        with at(now - timedelta(hours=2)), seeder.db.transaction():
            evidence: dict[str, JsonValue] = {"looks": 12, "last_fault": "", "control": "node-1"}
            nodes.set_state(name, state, identity={"machine_id": "3f9a"}, evidence=evidence)
    with at(now - timedelta(seconds=20)), seeder.db.transaction():
        nodes.note_seen("node-1", ())


def block_image_switch(db: Database, doomed: RowId) -> None:
    """A switch of the image that waits for an Owner."""
    switch = NewSwitch(
        ticket=TicketId("K9999"),
        operation=new_operation_id(),
        reference="registry.internal/perlica/next",
        digest="sha256:" + "77aa" * 16,
        introduction=sealed("Debian 13"),
        current=IMAGE,
        doomed=(Doomed(sandbox=doomed, name="dev", instance="b2f1c0", node="node-1"),),
    )
    with db.transaction():
        store = ImageSwitchStore(db)
        begun = store.begin(switch)
    with db.transaction():
        store.move(
            begun.id,
            before=SwitchState.switching,
            after=SwitchState.blocked,
            reason="node-2 unreachable",
        )


def _finished(
    seeder: Seeder, now: datetime, sandbox: RowId
) -> tuple[TaskId, OperationId, TicketId, CallId]:
    """A whole task with several turns, a ticket and an answer."""
    began = now - timedelta(minutes=52)
    with at(began):
        task = seeder.begin("跑测试，修好失败的用例，然后删掉旧的 docs 沙箱")
        seeder.turn(task, "system", {"text": "你是 Perlica……规则与初始上下文", "version": "1"})
        seeder.turn(
            task, "window", {"text": "[11:02] 林小明: 昨天的测试好像挂了\n[11:04] 阿杰: 是的，两个"}
        )
    with at(began + timedelta(seconds=6)):
        run = seeder.call("sandbox_exec", {"sandbox": "dev", "argv": ["make", "test"]})
        read = seeder.call("sandbox_read", {"sandbox": "dev", "path": "/src/app.py"}, 1)
        seeder.turn(
            task,
            "assistant",
            {
                "text": "先跑一遍测试，看看失败的用例。",
                "reasoning": "需要先看到失败的输出，再决定改哪里。",
            },
            (run, read),
        )
        operation = seeder.execute(
            task,
            run,
            action="sandbox.exec",
            plan={
                "action": "sandbox.exec",
                "target": {"sandbox": "dev", "instance": "b2f1c0"},
                "effect": {"argv": ["make", "test"], "cwd": "/src"},
                "scope": "sandbox",
                "destination": "node-1",
            },
            outcome={"ended": "exited", "exit_code": 2, "duration_ms": 840, "stdout_bytes": 48211},
            sandbox=sandbox,
        )
        seeder.give(
            task,
            run,
            "pytest -q\n..F....F\nFAILED tests/test_app.py::test_port - assert 8080 == 8081\n"
            "token=ghp_" + "Zx9Yw8Vu7Ts6" * 3 + "\n" + "line of output\n" * 2_000,
            "sandbox dev",
        )
    with at(began + timedelta(seconds=9)):
        seeder.execute(
            task,
            read,
            action="sandbox.read",
            plan={"action": "sandbox.read", "effect": {"path": "/src/app.py"}},
            outcome={"size_bytes": 812, "read_bytes": 812},
            sandbox=sandbox,
            kind="read",
            took_ms=21,
        )
        seeder.give(
            task, read, "PORT = 8080\n\n\ndef main() -> None:\n    serve(PORT)\n", "sandbox dev"
        )
    with at(began + timedelta(seconds=15)):
        seeder.turn(task, "note", {"text": "沙箱 dev 的用途描述是否仍然准确？"})
        drop = seeder.call("sandbox_manage", {"action": "delete", "name": "docs"})
        seeder.turn(task, "assistant", {"text": "端口写错了，已经改好。接着删除 docs。"}, (drop,))
        spent = seeder.draw(task, drop, "sandbox.delete", "沙箱 docs（node-1，实例 a01f22）")
        seeder.move(task, TaskState.waiting_approval)
    with at(began + timedelta(minutes=3)):
        with seeder.db.transaction():
            seeder.tickets.decide(
                spent,
                decision="approved",
                user=OWNER,
                code_digest=digest_code(spent, CODE),
                now_ms=now_ms(),
                owners_today=frozenset({OWNER}),
            )
            seeder.tickets.consume(spent, plan_hash=HASH, now_ms=now_ms())
        seeder.move(task, TaskState.running)
        seeder.execute(
            task,
            drop,
            action="sandbox.delete",
            plan={
                "action": "sandbox.delete",
                "target": {"sandbox": "docs"},
                "effect": {"wipe": True},
            },
            outcome={"absent": True, "instance": "a01f22"},
            level=Level.high,
            ticket=spent,
            took_ms=5_230,
        )
        seeder.give(task, drop, '{"deleted": true}', "sandboxd")
    with at(began + timedelta(minutes=3, seconds=11)):
        seeder.turn(task, "assistant", {"text": "测试已全部通过；docs 沙箱已删除。"})
        seeder.use(task, 4, 3, (18_420, 1_390))
        seeder.move(task, TaskState.completing, TaskState.completed, reason="answered")
        seeder.send(
            f"final:{task}",
            OutboxKind.final,
            f"【Perlica 回答 · {task}】\n测试已全部通过；docs 沙箱已删除。\n"
            "【实际执行】\n- 删除沙箱（docs）：成功",
            task,
        )
    return task, operation, spent, run.id


def _troubles(seeder: Seeder, now: datetime, sandbox: RowId) -> OperationId:
    """What waits for somebody."""
    with at(now - timedelta(minutes=30)):
        unknown = seeder.execute(
            None,
            None,
            action="sandbox.write",
            plan={"action": "sandbox.write", "effect": {"path": "/etc/motd"}},
            outcome=None,
            level=Level.medium,
            sandbox=sandbox,
            kind="write",
        )
        for number in range(4):
            seeder.send(
                f"notice:{number}",
                OutboxKind.notice,
                f"离线期间有 {number + 1} 条 @我 的消息没有处理。",
            )
        due = seeder.outbox.next_due(now_ms())
        assert due is not None
        rows = [row["id"] for row in seeder.db.query("SELECT id FROM outbox_messages ORDER BY id")]
        for row, fate in zip(rows, ("sent", "sent", "refused", "dead", "unknown"), strict=False):
            with seeder.db.transaction():
                seeder.outbox.begin_attempt(row, f"e{row}", "0" * 64, now_ms())
            with seeder.db.transaction():
                match fate:
                    case "sent":
                        seeder.outbox.mark_sent(row, MessageId(9000 + row))
                    case "refused":
                        seeder.outbox.mark_refused(row, "retcode 1200 消息被拒绝")
                    case "dead":
                        seeder.outbox.mark_dead(row, "no answer after 5 tries")
                    case _:
                        seeder.outbox.mark_unknown(row, "timeout")
        with seeder.db.transaction():
            seeder.audit.add_event(
                "intake.gap",
                actor="napcat",
                detail=sealed_json({"missed": 2, "from": 81, "to": 83}),
            )
            store = MessageStore(seeder.db)
            key = MessageKey(group_id=GROUP, message_id=MessageId(555), real_seq=555)
            store.mark_in_hand((key,))
        with seeder.db.transaction():
            MessageStore(seeder.db).note_crashes()
        quarantined = IncomingGroupMessage(
            group_id=GROUP,
            message_id=MessageId(554),
            real_seq=554,
            user_id=UserId(0),
            self_id=SELF,
            sent_at_ms=now_ms(),
            display_name="",
            segments=(),
        )
        with seeder.db.transaction():
            MessageStore(seeder.db).insert_message(
                quarantined,
                kind="quarantined",
                display_name=not_scanned(),
                content=not_scanned(),
                attachments=(),
            )
    return unknown


def _active(seeder: Seeder, now: datetime, sandbox: RowId) -> tuple[TaskId, TicketId]:
    """A task that waits for an Owner."""
    with at(now - timedelta(minutes=4)):
        task = seeder.begin("把 bench 沙箱删掉，里面的结果不要了", user=OTHER_OWNER)
        seeder.turn(task, "system", {"text": "你是 Perlica……", "version": "1"})
        seeder.turn(task, "window", {"text": "[12:40] 阿杰: bench 可以删了"})
    with at(now - timedelta(minutes=3, seconds=40)):
        look = seeder.call("sandbox_manage", {"action": "list"})
        seeder.turn(task, "assistant", {"text": "先看看现有的沙箱。"}, (look,))
        seeder.execute(
            task,
            look,
            action="sandbox.list",
            plan={"action": "sandbox.list"},
            outcome={"entries": 3},
            took_ms=12,
        )
        seeder.give(task, look, '[{"name": "dev"}, {"name": "docs"}, {"name": "bench"}]', "perlica")
        with seeder.db.transaction():
            seeder.tasks.next_step(task, step=0)
    with at(now - timedelta(minutes=3)):
        drop = seeder.call("sandbox_manage", {"action": "delete", "name": "bench"})
        seeder.turn(task, "assistant", {"text": "bench 需要 Owner 批准才能删除。"}, (drop,))
        ticket = seeder.draw(task, drop, "sandbox.delete", "沙箱 bench（node-1，实例 b2f1c0）")
        seeder.use(task, 2, 2, (6_120, 420))
        seeder.move(task, TaskState.waiting_approval)
    return task, ticket
