"""Reconciler: what nobody else would notice, looked at again and again.

It rings bells that may have been lost, settles operations that a crash left open, asks again about
unknown ones, keeps the database within its retention, and takes care of sandboxes: expiry, nodes,
clean-up, image switches, what Owners ordered. It never acts on a single failed look, and never
waits for a node: looks have threads of their own, and jobs are handed over.
"""

import logging
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from actors.base import Alarm, PerlicaActor, Wires, tell_safely
from actors.messages import ConnectionChanged, FramesWaiting, OutboxRung, SandboxOrdered, Tick
from actors.reconciler.database_watch import DatabaseWatch
from actors.reconciler.disk_pressure import DiskWatch
from actors.reconciler.node_probe import NodeProbe, ReadCluster, start_probes
from perlica.commands.sandbox_handler import Members, SandboxCommandHandler
from perlica.domain.actions import ActionCatalog
from perlica.domain.clock import monotonic_s
from perlica.domain.errors import PerlicaError, StaleState, StoreUnavailable
from perlica.domain.ids import OperationId, RowId
from perlica.domain.node import LossRule, NodeState
from perlica.domain.operation import OPEN_STATES, OperationState
from perlica.domain.policy import Policy
from perlica.domain.ports import SandboxRunner
from perlica.domain.texts import Language
from perlica.gateway.core.orders import Orders
from perlica.gateway.core.recovery import close_interrupted
from perlica.gateway.core.work import Executors
from perlica.gateway.families.sandbox.orders import SandboxOrders
from perlica.sandboxes.expiry import DUE_FOR_S, Settling
from perlica.sandboxes.jobs import tell_unknown
from perlica.sandboxes.keeper import Keeper
from perlica.sandboxes.node_watch import Look, NodeWatcher
from perlica.sandboxes.nodes import Nodes
from perlica.stores.commands import CommandStore
from perlica.stores.database import Database
from perlica.stores.operations import Operation, OperationStore
from perlica.stores.retention import Retention
from perlica.stores.tasks import TaskStore

_log = logging.getLogger(__name__)

_RING_EVERY_S = 5.0
_UNKNOWN_EVERY_S = 60.0
_RETENTION_EVERY_S = 600.0
_DISK_EVERY_S = 60.0


@dataclass(frozen=True, slots=True, kw_only=True)
class SandboxCare:
    """What the care of sandboxes is made of; `read_cluster` where a Kubernetes API is known."""

    nodes: Nodes
    policy: Policy
    idle_ms: int
    loss_rule: LossRule
    look_every_s: float
    make_orders: Callable[[Orders], SandboxOrders]
    read_cluster: ReadCluster | None = None
    expire_after_due_s: float = DUE_FOR_S


@dataclass(slots=True)
class _Every:
    """Whether it is time again; monotonic, first at once."""

    period_s: float
    _next_s: float = 0.0

    def is_due(self) -> bool:
        now = monotonic_s()
        if now < self._next_s:
            return False
        self._next_s = now + self.period_s
        return True

    def again(self) -> None:
        """Be due at the next look."""
        self._next_s = 0.0


class Reconciler(PerlicaActor):
    """Owns the repair of what bells and crashes left behind."""

    def __init__(
        self,
        *,
        database_path: Path,
        make_runner: Callable[[Database], SandboxRunner],
        make_executors: Callable[[Database], Executors],
        make_orders: Callable[[Database, Executors], Orders],
        make_retention: Callable[[Database], Retention],
        make_disk_watch: Callable[[Database], DiskWatch],
        care: SandboxCare | None,
        members: Members,
        language: Language,
        actions: ActionCatalog,
        wires: Wires,
        alarm: Alarm,
    ) -> None:
        """Keep the parts; the connection opens in the actor's own thread."""
        super().__init__(name="reconciler", alarm=alarm)
        self._path = database_path
        self._make_runner = make_runner
        self._make_executors = make_executors
        self._make_orders = make_orders
        self._make_retention = make_retention
        self._make_disk_watch = make_disk_watch
        self._care = care
        self._members = members
        self._language = language
        self._actions = actions
        self._wires = wires
        self._ring = _Every(_RING_EVERY_S)
        self._ask_again = _Every(_UNKNOWN_EVERY_S)
        self._clean_up = _Every(_RETENTION_EVERY_S)
        self._disk = _Every(_DISK_EVERY_S)
        self._database_watch = DatabaseWatch(
            database_path, language=language, tell_health=self._tell_health
        )
        self._probes: tuple[NodeProbe, ...] = ()
        self._node_states: dict[str, NodeState] = {}

    def begin(self) -> None:
        """Open the connection and settle what an earlier process left open."""
        self._database = Database.open(self._path)
        self._operations = OperationStore(self._database)
        self._runner = self._make_runner(self._database)
        self._executors = self._make_executors(self._database)
        self._orders = self._make_orders(self._database, self._executors)
        self._retention = self._make_retention(self._database)
        self._disk_watch = self._make_disk_watch(self._database)
        self._left_open = [operation.id for operation in self._operations.list_open()]
        self._handed_over: set[OperationId] = set()
        self._handler = SandboxCommandHandler(
            database=self._database,
            orders=None if self._care is None else self._begin_care(self._care),
            members=self._members,
            language=self._language,
        )

    def _begin_care(self, care: SandboxCare) -> SandboxOrders:
        self._keeper = Keeper(
            database=self._database,
            runner=self._runner,
            policy=care.policy,
            idle_ms=care.idle_ms,
            language=self._language,
            actions=self._actions,
            ring_outbox=self._ring_outbox,
            settling=Settling(care.expire_after_due_s),
        )
        self._watcher = NodeWatcher(
            database=self._database, rule=care.loss_rule, language=self._language
        )
        self._looks, self._probes = start_probes(
            care.nodes,
            every_s=care.look_every_s,
            alarm=self._alarm,
            read_cluster=care.read_cluster,
        )
        return care.make_orders(self._orders)

    def end(self) -> None:
        """Look no more and close the connection."""
        for probe in self._probes:
            probe.end()
        if hasattr(self, "_database"):
            self._database.close()

    def handle(self, message: object) -> object:
        """Look again at what is due."""
        match message:
            case Tick():
                self._look()
            case SandboxOrdered(message_row=row):
                self._obey(row)
            case ConnectionChanged():
                self._wires.connection_fault = "" if message.ready else message.reason
                tell_safely(self._wires.outbox, OutboxRung())
            case _:
                raise TypeError(type(message).__name__)
        return None

    def _obey(self, row: RowId) -> None:
        """Carry out an Owner's command about sandboxes, once; the coordinator rings again."""
        command = CommandStore(self._database).find(row)
        if command is None or command.state != "pending":
            return
        try:
            self._handler.obey(command)
        except StoreUnavailable as error:
            _log.warning("command waits", extra={"code": error.code})
        self._ring_outbox()

    def _look(self) -> None:
        if self._left_open:
            self._settle_left_open()
        self._take_care()
        if self._ring.is_due():
            tell_safely(self._wires.outbox, OutboxRung())
            tell_safely(self._wires.protection, FramesWaiting())
        if self._ask_again.is_due():
            for operation in self._operations.list_unknown():
                self._announce_unknown(operation)
            if self._care is not None:
                self._keeper.ask_again()
        if self._clean_up.is_due():
            self._clean()
        if self._disk.is_due() and self._disk_watch.look():
            self._disk.again()
        if self._database_watch.look(self._database):
            self._ring_outbox()

    def _take_care(self) -> None:
        """Looks first, so that what is done next rests on them; a busy database costs a second."""
        try:
            while self._care is not None and not self._looks.empty():
                self._take_look(self._looks.get())
            self._orders.execute_approved()
            if self._care is not None:
                self._keeper.tick()
        except StoreUnavailable as error:
            _log.warning("not looked at what is due", extra={"code": error.code})

    def _take_look(self, look: Look) -> None:
        """A node that answers again can tell what became of operations."""
        before = self._node_states.get(look.node)
        state = self._watcher.take(look)
        self._node_states[look.node] = state
        if state is NodeState.alive and before is not NodeState.alive:
            self._keeper.ask_again()
        self._ring_outbox()

    def _tell_health(self, fault: str) -> None:
        self._wires.database_fault = fault

    def _ring_outbox(self) -> None:
        tell_safely(self._wires.outbox, OutboxRung())

    def _clean(self) -> None:
        """One short batch; again at the next tick while there is more."""
        cleaned = self._retention.clean_up()
        if cleaned.rows:
            _log.info("expired records deleted", extra={"rows": dict(cleaned.rows)})
        if cleaned.more:
            self._clean_up.again()

    def _settle_left_open(self) -> None:
        """Operations of tasks that ended; those of the living task are the session's business."""
        active = TaskStore(self._database).active_task()
        for operation_id in list(self._left_open):
            operation = self._operations.find(operation_id)
            if operation is None or operation.state not in OPEN_STATES:
                self._left_open.remove(operation_id)
                self._handed_over.discard(operation_id)
                if operation is not None and operation.state is OperationState.unknown:
                    self._announce_unknown(operation)
            elif active is None or operation.task_id != active.id:
                self._settle(operation)

    def _settle(self, operation: Operation) -> None:
        """Take it back if it was never begun; else hand it over once to be looked up.

        What a task began that has ended is stopped: nobody waits for it any more.
        """
        executor = self._executors.get(operation.executor)
        try:
            if operation.state is OperationState.queued:
                if executor is None or not executor.take_back(operation.id):
                    self._close(operation)
            elif operation.id not in self._handed_over:
                stops = operation.task_id is not None
                if executor is None or not executor.hand_over(operation.id, stops=stops):
                    self._close(operation)
                else:
                    self._handed_over.add(operation.id)
        except (PerlicaError, StaleState) as error:
            _log.info("not settled yet", extra={"operation": operation.id, "code": error.code})

    def _close(self, operation: Operation) -> None:
        with self._database.transaction():
            close_interrupted(self._database, operation)

    def _announce_unknown(self, operation: Operation) -> None:
        with self._database.transaction():
            tell_unknown(self._database, operation, self._language, self._actions)
