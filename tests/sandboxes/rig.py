"""The parts that take care of sandboxes, as real actors over a real database, without a group.

What a model or an Owner would do is done directly: a call goes through the gateway, a command's row
goes to the reconciler. So rounds are quick enough to be repeated by the hundred.
"""

import itertools
import json
import re
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import Any

from actors.base import Alarm, Ref, Wires
from actors.ledger.actor import ApprovalLedger
from actors.messages import Decide, Ready, SandboxOrdered, Tick
from actors.reconciler.actor import Reconciler, SandboxCare
from actors.reconciler.disk_pressure import DiskWatch
from actors.serializer import SandboxSerializer, SerializerRunner
from perlica.commands.sandbox_handler import Members
from perlica.domain.approval import digest_code
from perlica.domain.cancel import CancelToken
from perlica.domain.ids import (
    GroupId,
    MessageId,
    RowId,
    SandboxName,
    TaskId,
    TicketId,
    UserId,
    new_call_id,
)
from perlica.domain.message import IncomingGroupMessage, Segment, SegmentKind
from perlica.domain.node import LossRule
from perlica.domain.ports import SandboxRunner
from perlica.domain.sandbox import IDLE_MS_AT_MOST, MAX_SANDBOXES, SandboxImage, SandboxLimits
from perlica.domain.task import TaskState
from perlica.domain.texts import Language
from perlica.gateway.core.gateway import Gateway, GivenCall
from perlica.gateway.core.orders import Orders
from perlica.gateway.core.outcomes import Answered
from perlica.gateway.core.policy_file import read_policy
from perlica.gateway.core.registry import Registry
from perlica.gateway.families.sandbox.family import sandbox_family
from perlica.gateway.families.sandbox.orders import SandboxOrders
from perlica.gateway.families.sandbox.settings import SandboxSettings
from perlica.gateway.known_actions import CATALOG
from perlica.protection import Channel, protect
from perlica.sandboxes.image import adopt_image
from perlica.sandboxes.lifecycle import Deletion, LifecycleAction, queue_deletion
from perlica.sandboxes.nodes import Nodes
from perlica.stores.commands import CommandStore
from perlica.stores.database import Database
from perlica.stores.messages import MessageStore
from perlica.stores.migrations import check_target, migrate
from perlica.stores.pressure import DiskPressure
from perlica.stores.retention import Retention, RetentionAges
from perlica.stores.sandboxes import SandboxStore
from perlica.stores.sessions import NewCall, SessionStore
from perlica.stores.tasks import TaskStore
from tests.sandboxes.ceremonies import make_ceremony, make_orders
from tests.sandboxes.stage import OLD

GROUP, SELF = GroupId(600100200), UserId(10000)
OWNERS = (UserId(30001), UserId(30002))
WITHIN_S = 15.0
CODE = "424242"
_LIMITS = SandboxLimits(
    memory_bytes=2**28, pids=64, cpu_millis=1000, disk_bytes=352321536, nofile=256
)
_IMAGE = SandboxImage(reference="test/old", digest=OLD, introduction="old", revision=1)


@dataclass(slots=True)
class Rig:
    """Starts with `start`; `stop` ends every actor."""

    path: Path
    backends: Mapping[str, Any]
    image: SandboxImage = _IMAGE
    idle_ms: int = IDLE_MS_AT_MOST
    expire_after_due_s: float = 0.0
    network: str = "none"
    loss_rule: LossRule = field(default_factory=LossRule)
    look_every_s: float = 3600.0
    alarm: Alarm = field(default_factory=Alarm)
    wires: Wires = field(default_factory=Wires)
    _refs: list[Ref] = field(default_factory=list)
    _serializers: dict[int, Ref] = field(default_factory=dict)
    _numbers: "itertools.count[int]" = field(
        default_factory=lambda: itertools.count(time.time_ns() // 1_000_000 % 1_000_000_000)
    )
    _task: TaskId | None = None

    @property
    def nodes(self) -> Nodes:
        """The backends as nodes."""
        return Nodes(dict(self.backends))

    def start(self) -> None:
        """A database with its image, a running task, the serializers, ledger and reconciler."""
        migrate(self.path)
        with Database.open(self.path) as database:
            check_target(database, GROUP, SELF)
            adopt_image(database, self.image)
            active = TaskStore(database).active_task()
            self._task = active.id if active is not None else self._begin_task(database)
        self._start_serializers()
        self.wires.ledger = self._ready(
            ApprovalLedger.start(
                database_path=self.path,
                owners=frozenset(OWNERS),
                language=Language.zh,
                actions=CATALOG,
                wires=self.wires,
                alarm=self.alarm,
            )
        )
        self.wires.reconciler = self._ready(
            Reconciler.start(
                database_path=self.path,
                make_runner=self.runner,
                make_executors=self._registry().executors,
                make_orders=partial(make_orders, self._registry(), OWNERS),
                make_retention=Retention,
                make_disk_watch=_watch_no_disk,
                care=SandboxCare(
                    nodes=self.nodes,
                    policy=read_policy(None),
                    idle_ms=self.idle_ms,
                    expire_after_due_s=self.expire_after_due_s,
                    loss_rule=self.loss_rule,
                    look_every_s=self.look_every_s,
                    make_orders=self._sandbox_orders,
                ),
                members=Members(group_id=GROUP, owners=frozenset(OWNERS), listed=frozenset(OWNERS)),
                language=Language.zh,
                actions=CATALOG,
                wires=self.wires,
                alarm=self.alarm,
            )
        )
        self.wait(self._was_looked_at, what="first looks")

    def _start_serializers(self) -> None:
        for slot in range(MAX_SANDBOXES + 1):
            ref = SandboxSerializer.start(
                slot=slot,
                database_path=self.path,
                nodes=self.nodes,
                language=Language.zh,
                actions=CATALOG,
                alarm=self.alarm,
            )
            self._serializers[slot] = self._ready(ref)

    def stop(self) -> None:
        """End all actors; none may have failed."""
        for ref in reversed(self._refs):
            ref.stop(block=True, timeout=WITHIN_S)
        self._refs.clear()
        assert self.alarm.faults == []

    # --- doing ------------------------------------------------------------------------------

    def call(self, tool: str, **arguments: object) -> str:
        """One call of the model, through the gateway, on a connection of the calling thread."""
        with Database.open(self.path) as database:
            assert self._task is not None
            call, number = new_call_id(), next(self._numbers)
            text = json.dumps(arguments)
            with database.transaction():
                sealed = protect(json.loads(text), Channel.TOOL_ARGUMENTS)
                new = NewCall(
                    id=call,
                    position=0,
                    provider_call_id=call,
                    tool=tool,
                    arguments=sealed,
                    arguments_intact=True,
                )
                SessionStore(database).insert_calls(self._task, number, [new])
            task = TaskStore(database).find_task(self._task)
            assert task is not None
            given = GivenCall(id=call, tool=tool, arguments_json=text)
            end = self._gateway(database).dispatch(task, given, CancelToken())
            assert isinstance(end, Answered), end
            return end.content.content

    def create(self, name: str, **more: str) -> str:
        """A new sandbox."""
        return self.call("sandbox_manage", action="create", name=name, **more)

    def run(self, *argv: str, sandbox: str = "main") -> str:
        """A command."""
        return self.call("sandbox_exec", sandbox=sandbox, argv=list(argv))

    def remove(self, name: str) -> None:
        """Delete a sandbox by the clean-up policy, if it is there, and wait for its end."""
        with Database.open(self.path) as database:
            with database.transaction():
                row = SandboxStore(database).find_living(SandboxName(name))
                if row is None:
                    return
                deletion = Deletion(row=row, action=LifecycleAction.clean, reason={"why": "test"})
                job = queue_deletion(database, read_policy(None), deletion)
            assert job is not None
            self.runner(database).run(job, CancelToken(), within_s=WITHIN_S)

    def age(self, name: str, days: float) -> None:
        """Let the last use of a sandbox be so long ago."""
        sql = "UPDATE sandboxes SET last_active_at_ms = last_active_at_ms - :ms WHERE name = :name"
        with Database.open(self.path) as database, database.transaction():
            database.change(sql, {"ms": int(days * 86_400_000), "name": name})

    def pending(self) -> list[TicketId]:
        """Tickets that wait, the newest last."""
        sql = "SELECT id FROM approvals WHERE state = 'pending' ORDER BY rowid"
        return [TicketId(str(ticket)) for ticket in self.column(sql)]

    def deny_all(self) -> None:
        """Let every waiting ticket die."""
        with Database.open(self.path) as database, database.transaction():
            database.change("UPDATE approvals SET state = 'void' WHERE state = 'pending'")

    def order(self, command: str, /, *, user: UserId = OWNERS[0], **arguments: str) -> RowId:
        """An Owner's command, as intake stores it, handed to the reconciler."""
        row = self._store_command(command, arguments, user)
        assert self.wires.reconciler is not None
        self.wires.reconciler.tell(SandboxOrdered(message_row=row))
        return row

    def approve(self, ticket: TicketId, *, user: UserId = OWNERS[0]) -> RowId:
        """An Owner's `.approve` with the right code."""
        code = self.code_of(ticket)
        arguments = {"ticket": str(ticket), "code_digest": digest_code(ticket, code)}
        row = self._store_command("approve", arguments, user)
        assert self.wires.ledger is not None
        self.wires.ledger.tell(Decide(message_row=row))
        return row

    def code_of(self, ticket: TicketId) -> str:
        """The code that the group reads."""
        sql = "SELECT content FROM outbox_messages WHERE ticket_id = :ticket AND kind = 'approval'"
        with Database.open(self.path, read_only=True) as database:
            text = "\n".join(row["content"] for row in database.query(sql, {"ticket": ticket}))
        match = re.search(r"\.approve \S+ (\d{6})", text)
        assert match is not None, text
        return match.group(1)

    def end_task(self) -> None:
        """Nobody goes on with the task: what it left open is the reconciler's business."""
        with Database.open(self.path) as database, database.transaction():
            task = TaskStore(database).active_task()
            assert task is not None
            TaskStore(database).move_task(task.id, before=task.state, after=TaskState.failed)

    def tick(self) -> None:
        """One second of the reconciler's clock, waited for."""
        assert self.wires.reconciler is not None
        self.wires.reconciler.ask(Tick(), timeout=WITHIN_S)

    # --- looking ----------------------------------------------------------------------------

    def column(self, sql: str) -> list[object]:
        """The first column of a query."""
        with Database.open(self.path, read_only=True) as database:
            return [next(iter(row.values())) for row in database.query(sql)]

    def count(self, sql: str) -> int:
        """The number of rows of a query."""
        return len(self.column(sql))

    def wait(
        self, holds: Callable[[], bool], what: str = "", *, within_s: float = WITHIN_S
    ) -> None:
        """Tick until something holds, bounded."""
        deadline = time.monotonic() + within_s
        while not holds():
            assert time.monotonic() < deadline, f"did not happen: {what} {self._describe()}"
            self.tick()
            time.sleep(0.002)

    def _describe(self) -> str:
        """What is open, for a test that failed."""
        operations = self.column(
            "SELECT action || ' ' || state || ' ' || outcome FROM operations ORDER BY rowid"
        )
        sandboxes = self.column("SELECT name || ' ' || state FROM sandboxes")
        orphans = self.column(
            "SELECT cause || ' ' || reason || ' ' || attempts FROM orphans WHERE state = 'open'"
        )
        return f"{operations[-6:]} {sandboxes} {orphans}"

    def living(self) -> list[object]:
        """Names that hold a slot."""
        return self.column("SELECT name FROM sandboxes WHERE slot IS NOT NULL ORDER BY slot")

    # --- parts ------------------------------------------------------------------------------

    def runner(self, database: Database) -> SandboxRunner:
        """The runner over a connection."""
        return SerializerRunner(
            serializers=self._serializers, nodes=self.nodes, database=lambda: database
        )

    def _was_looked_at(self) -> bool:
        return self.count("SELECT 1 FROM nodes") == len(self.backends)

    def _ready(self, ref: Ref) -> Ref:
        assert ref.ask(Ready(), timeout=WITHIN_S)
        self._refs.append(ref)
        return ref

    def _sandbox_orders(self, orders: Orders) -> SandboxOrders:
        return SandboxOrders(orders=orders, settings=self._settings(), language=Language.zh)

    def _settings(self) -> SandboxSettings:
        return SandboxSettings(
            nodes=tuple(self.backends),
            limits=_LIMITS,
            network=self.network,
            idle_ms=self.idle_ms,
            exec_within_s=60,
            output_limit_bytes=65536,
            read_limit_bytes=65536,
        )

    def _registry(self) -> Registry:
        return Registry((sandbox_family(self._settings(), self.runner, Language.zh),))

    def _gateway(self, database: Database) -> Gateway:
        registry = self._registry()
        executors = registry.executors(database)
        return Gateway(
            database=database,
            registry=registry,
            ceremony=make_ceremony(database, executors, OWNERS),
        )

    def _store_message(self, database: Database, text: str, kind: str, user: UserId) -> RowId:
        number = next(self._numbers)
        message = IncomingGroupMessage(
            group_id=GROUP,
            message_id=MessageId(number),
            real_seq=number,
            user_id=user,
            self_id=SELF,
            sent_at_ms=int(time.time() * 1000),
            display_name="x",
            segments=(Segment(kind=SegmentKind.text, text=text),),
        )
        row = MessageStore(database).insert_message(
            message,
            kind=kind,  # type: ignore[arg-type]
            display_name=protect("x", Channel.MESSAGE),
            content=protect(text, Channel.MESSAGE),
            attachments=(),
        )
        assert row is not None
        return row

    def _store_command(self, name: str, arguments: Mapping[str, str], user: UserId) -> RowId:
        with Database.open(self.path) as database, database.transaction():
            row = self._store_message(database, f".{name}", "control", user)
            CommandStore(database).insert_command(row, user, name, arguments)
            return row

    def _begin_task(self, database: Database) -> TaskId:
        with database.transaction():
            row = self._store_message(database, "go", "trigger", OWNERS[0])
            task = TaskStore(database).create_task(
                trigger_row=row,
                requester_id=OWNERS[0],
                group_id=GROUP,
                policy_version="1",
                context_version="1",
            )
            assert task is not None
        for before, after in (
            (TaskState.received, TaskState.contextualizing),
            (TaskState.contextualizing, TaskState.running),
        ):
            with database.transaction():
                TaskStore(database).move_task(task.id, before=before, after=after)
        return task.id


def _watch_no_disk(database: Database) -> DiskWatch:
    """A disk that is never full."""
    pressure = DiskPressure(database, RetentionAges(), min_free_bytes=0)
    return DiskWatch(database, pressure, language=Language.zh)
