"""The composition root: every actor made, wired and started in order.

Start order: ledger, serializers, outbox, session, coordinator, protection, reconciler, NapCat last,
so that nothing comes in before everything stands. Stop order is the reverse.
"""

import logging
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path

from actors.base import Alarm, Ref, Wires, tell_safely
from actors.coordinator.actor import TaskCoordinator
from actors.ledger.actor import ApprovalLedger
from actors.messages import ApprovalUndeliverable, Look, OutboxRung, Send
from actors.napcat.actor import NapCatConnection, Peers
from actors.napcat.position import StoredPosition
from actors.outbox.actor import Outbox, OutboxPorts
from actors.protection.actor import Protection
from actors.reconciler.actor import Reconciler, SandboxCare
from actors.reconciler.disk_pressure import DiskWatch
from actors.serializer import SandboxSerializer, SerializerRunner
from actors.session import AgentSession
from perlica.app import parts
from perlica.app.config import Config
from perlica.app.families import build_families
from perlica.app.policy_change import context_version
from perlica.app.runtimes import build_runtime
from perlica.app.secrets import Secrets
from perlica.app.supervision import Supervisor
from perlica.clients.napcat import InboundQueue
from perlica.domain.actions import ActionCatalog
from perlica.domain.ids import GroupId, TaskId, TicketId, UserId
from perlica.domain.policy import Policy
from perlica.domain.ports import SandboxRunner
from perlica.domain.sandbox import MAX_SANDBOXES
from perlica.gateway.core.ceremony import Ceremony
from perlica.gateway.core.family import ToolFamily
from perlica.gateway.core.gateway import Gateway
from perlica.gateway.core.orders import Orders
from perlica.gateway.core.policy_file import check_actions
from perlica.gateway.core.registry import Registry
from perlica.gateway.core.tickets import TicketIssuer
from perlica.gateway.core.work import Executors
from perlica.gateway.families.sandbox.orders import SandboxOrders
from perlica.gateway.known_actions import CATALOG
from perlica.runtimes.sessions import CLOSE_WITHIN_S, RuntimeSessions
from perlica.sandboxes.nodes import Nodes
from perlica.session.loop import AgentLoop
from perlica.session.opening import Opening
from perlica.session.prompt import InitialContext, build_system
from perlica.session.transcript import Transcript
from perlica.stores.database import Database
from perlica.stores.pressure import DiskPressure
from perlica.stores.retention import Retention
from perlica.tasks.ending import TaskEnder

_log = logging.getLogger(__name__)


@dataclass(slots=True, kw_only=True)
class Assembly:
    """Everything that one running service is made of.

    `more_families` are tool families from outside, behind those of the service.
    """

    config: Config
    secrets: Secrets
    policy: Policy
    nodes: Nodes | None
    database_path: Path
    alarm: Alarm
    supervisor: Supervisor
    wires: Wires
    more_families: tuple[ToolFamily, ...] = ()
    actions: ActionCatalog = field(init=False)
    inbound: InboundQueue = field(init=False)
    _registry: Registry = field(init=False)

    def __post_init__(self) -> None:
        """Make the queue between the connection's reader and intake, and the catalog of actions.

        Raises: Misconfigured for a policy that speaks of actions or scopes that do not exist.
        """
        self.inbound = InboundQueue(most_frames=self.config.napcat.inbound_frames)
        more = (action for family in self.more_families for action in family.actions)
        self.actions = CATALOG.and_more(more)
        check_actions(self.policy, self.actions)

    def start(self) -> None:
        """Start all actors in order. Raises: NotStarted with the actor's name."""
        self.wires.ledger = self.supervisor.start("ledger", self._ledger, ticks=True)
        serializers = self._start_serializers()
        make_runner = partial(self._runner, serializers)
        families = build_families(self.config, None if self.nodes is None else make_runner)
        self._registry = Registry((*families, *self.more_families))
        self.wires.outbox = self.supervisor.start("outbox", self._outbox, ticks=True)
        self.wires.session = self.supervisor.start("session", self._session)
        self.wires.coordinator = self.supervisor.start(
            "coordinator", self._coordinator, ticks=True, drains=True
        )
        inbound = self.inbound
        self.wires.protection = self.supervisor.start(
            "protection", lambda: self._protection(inbound), ticks=True
        )
        self.wires.reconciler = self.supervisor.start(
            "reconciler", lambda: self._reconciler(serializers), ticks=True
        )
        self.wires.connection = self.supervisor.start(
            "napcat", lambda: self._connection(inbound), ticks=True, drains=True
        )

    # --- one function for each actor --------------------------------------------------------

    def _ledger(self) -> Ref:
        return ApprovalLedger.start(
            database_path=self.database_path,
            owners=self.config.owners,
            language=self.config.service.language,
            actions=self.actions,
            wires=self.wires,
            alarm=self.alarm,
        )

    def _start_serializers(self) -> Mapping[int, Ref]:
        """One for each slot, and slot 0 for what is left of sandboxes that hold none."""
        nodes = self.nodes
        if nodes is None:
            return {}
        return {
            slot: self.supervisor.start(
                f"serializer-{slot}", partial(self._serializer, slot, nodes)
            )
            for slot in range(MAX_SANDBOXES + 1)
        }

    def _serializer(self, slot: int, nodes: Nodes) -> Ref:
        return SandboxSerializer.start(
            slot=slot,
            database_path=self.database_path,
            nodes=nodes,
            language=self.config.service.language,
            actions=self.actions,
            alarm=self.alarm,
        )

    def _outbox(self) -> Ref:
        return Outbox.start(
            settings=parts.outbox_settings(self.config),
            database_path=self.database_path,
            group_id=GroupId(self.config.napcat.group_id),
            self_id=UserId(self.config.napcat.self_id),
            ports=OutboxPorts(
                tell_connection=self._tell_connection,
                undeliverable=self._hear_undeliverable,
                alert=lambda code, ids: _log.warning(code, extra=dict(ids)),
            ),
            alarm=self.alarm,
        )

    def _tell_connection(self, message: Send | Look) -> bool:
        return tell_safely(self.wires.connection, message)

    def _hear_undeliverable(
        self, task: TaskId | None, ticket: TicketId | None, _reason: str
    ) -> None:
        if ticket is not None:
            tell_safely(self.wires.coordinator, ApprovalUndeliverable(ticket=ticket, task=task))

    def _session(self) -> Ref:
        return AgentSession.start(
            database_path=self.database_path,
            make_loop=self._loop,
            wires=self.wires,
            alarm=self.alarm,
        )

    def _coordinator(self) -> Ref:
        return TaskCoordinator.start(
            database_path=self.database_path,
            handler=parts.command_handler(
                self.config, lambda: self.wires.connection_fault, self.actions
            ),
            wall_time_ms=int(self.config.task.wall_time_s * 1000),
            shows_usage=self.config.task.show_usage,
            progress=parts.progress_settings(self.config),
            wires=self.wires,
            alarm=self.alarm,
        )

    def _protection(self, inbound: InboundQueue) -> Ref:
        return Protection.start(
            database_path=self.database_path,
            inbound=inbound,
            settings=parts.intake_settings(self.config, self.policy.version),
            wires=self.wires,
            alarm=self.alarm,
        )

    def _reconciler(self, serializers: Mapping[int, Ref]) -> Ref:
        ages = parts.retention_ages(self.config)
        return Reconciler.start(
            database_path=self.database_path,
            make_runner=partial(self._runner, serializers),
            make_executors=self._registry.executors,
            make_orders=self._orders,
            make_retention=lambda database: Retention(database, ages),
            make_disk_watch=self._disk_watch,
            care=self._care(),
            members=parts.members(self.config),
            language=self.config.service.language,
            actions=self.actions,
            wires=self.wires,
            alarm=self.alarm,
        )

    def _disk_watch(self, database: Database) -> DiskWatch:
        config = self.config
        pressure = DiskPressure(
            database,
            parts.retention_ages(config),
            min_free_bytes=config.retention.min_free_bytes,
        )
        return DiskWatch(database, pressure, language=config.service.language)

    def _care(self) -> SandboxCare | None:
        section = self.config.sandbox
        if section is None or self.nodes is None:
            return None
        return SandboxCare(
            nodes=self.nodes,
            policy=self.policy,
            idle_ms=parts.idle_ms(self.config),
            expire_after_due_s=section.expire_after_due_s,
            loss_rule=parts.loss_rule(section),
            look_every_s=section.look_every_s,
            make_orders=self._sandbox_orders,
        )

    def _sandbox_orders(self, orders: Orders) -> SandboxOrders:
        settings = parts.sandbox_settings(self.config)
        return SandboxOrders(
            orders=orders, settings=settings, language=self.config.service.language
        )

    def _orders(self, database: Database, executors: Executors) -> Orders:
        return Orders(
            database=database,
            ceremony=self._ceremony(database, executors),
            specs=self._registry.orders(),
            policy_version=self.policy.version,
            language=self.config.service.language,
        )

    def _connection(self, inbound: InboundQueue) -> Ref:
        protection, outbox = self.wires.protection, self.wires.outbox
        if protection is None or outbox is None:
            raise RuntimeError("protection and outbox start before the connection")
        return NapCatConnection.start(
            settings=parts.napcat_settings(self.config, self.secrets),
            queue=inbound,
            position=StoredPosition(self.database_path),
            peers=Peers(protection=protection, outbox=outbox, reconciler=self.wires.reconciler),
            alarm=self.alarm,
        )

    # --- what the session's thread works with -----------------------------------------------

    def _runner(self, serializers: Mapping[int, Ref], database: Database) -> SandboxRunner:
        return SerializerRunner(
            serializers=serializers, nodes=self.nodes or Nodes({}), database=lambda: database
        )

    def _loop(self, database: Database) -> AgentLoop:
        config = self.config
        language = config.service.language
        zone = parts.zone(config)
        context = InitialContext(version=config.context.version, text=config.context.text)
        return AgentLoop(
            database=database,
            gateway=self._gateway(database),
            runtime_sessions=RuntimeSessions(
                runtime=build_runtime(config, self.secrets),
                close_within_s=min(CLOSE_WITHIN_S, config.service.stop_within_s / 2),
            ),
            opening=Opening(
                database=database,
                system=build_system(context, guidance=self._registry.guidance(), language=language),
                context_version=context_version(config),
                limits=parts.window_limits(config),
                zone=zone,
            ),
            budgets=parts.budgets(config),
            ender=TaskEnder(
                database=database,
                language=language,
                actions=self.actions,
                shows_usage=config.task.show_usage,
                console_url=(config.console.public_url or "").rstrip("/"),
            ),
            language=language,
            new_transcript=lambda: Transcript(parts.wrap_settings(config)),
        )

    def _gateway(self, database: Database) -> Gateway:
        executors = self._registry.executors(database)
        return Gateway(
            database=database,
            registry=self._registry,
            ceremony=self._ceremony(database, executors),
        )

    def _ceremony(self, database: Database, executors: Executors) -> Ceremony:
        return Ceremony(
            database=database,
            policy=self.policy,
            issuer=self._ticket_issuer(database),
            executors=executors,
            ring_outbox=self._ring_outbox,
        )

    def _ticket_issuer(self, database: Database) -> TicketIssuer:
        config = self.config
        return TicketIssuer(
            database=database,
            owners=config.owners,
            language=config.service.language,
            actions=self.actions,
            lifetime_ms=int(config.approval.lifetime_s * 1000),
            zone=parts.zone(config),
        )

    def _ring_outbox(self) -> None:
        tell_safely(self.wires.outbox, OutboxRung())
