"""The keeper of sandboxes: expiry, clean-up that failed, image switches, what Owners ordered.

The reconciler calls `tick` about once a second. Everything it does is read from the tables, written
to them as an operation, and handed to the sandbox's serializer; it never waits for a node.
"""

import json
import logging
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from typing import Final

from perlica.domain.actions import ActionCatalog
from perlica.domain.clock import monotonic_s, now_ms
from perlica.domain.errors import PerlicaError, StaleState
from perlica.domain.ids import OperationId
from perlica.domain.node import ANSWERING
from perlica.domain.operation import OPEN_STATES, OperationState
from perlica.domain.outbox import OutboxKind
from perlica.domain.policy import Policy
from perlica.domain.ports import SANDBOX_EXECUTOR, Delete, JobKind, SandboxJob, SandboxRunner, Stop
from perlica.domain.texts import Language
from perlica.domain.texts.sandboxes import (
    say_command_ended,
    say_expired,
    say_orphans,
    say_switch_blocked,
    say_switch_done,
)
from perlica.protection import Channel, protect
from perlica.sandboxes import image_switch
from perlica.sandboxes.expiry import Settling, SettlingStore, find_expired
from perlica.sandboxes.lifecycle import (
    Deletion,
    LifecycleAction,
    may_happen_by_itself,
    queue_deletion,
)
from perlica.sandboxes.recovery import job_to_look_up
from perlica.stores.database import Database
from perlica.stores.image_switches import ImageSwitch, SwitchState
from perlica.stores.nodes import NodeStore
from perlica.stores.operations import Operation, OperationStore
from perlica.stores.orphans import Orphan, OrphanStore
from perlica.stores.outbox import OutboxStore
from perlica.stores.sandboxes import SandboxStore

_log = logging.getLogger(__name__)

_CLEANED_BY_ITSELF: Final = frozenset({"delete_failed", "unconfirmed", "returned"})


@dataclass(slots=True, kw_only=True)
class Keeper:
    """Over the reconciler's connection. `idle_ms` may only shorten what a sandbox was made with.

    `ring_outbox` is called when a line for the group was written.
    """

    database: Database
    runner: SandboxRunner
    policy: Policy
    idle_ms: int
    language: Language
    actions: ActionCatalog
    ring_outbox: Callable[[], None]
    settling: Settling = field(default_factory=Settling)
    _watched: set[OperationId] = field(default_factory=set)
    _settling_store: SettlingStore = field(init=False)

    def __post_init__(self) -> None:
        """Whatever an earlier process left open is settled by the reconciler; its end is told."""
        self._settling_store = SettlingStore(self.database)
        self.settling.due_s = self._settling_store.read()
        self._watched |= {operation.id for operation in self._list_orders()}
        for action in LifecycleAction:
            if not may_happen_by_itself(self.policy, action):
                facts = {"policy": self.policy.version, "code": action.value}
                _log.warning("the policy does not let this happen by itself", extra=facts)

    def tick(self) -> None:
        """Look at everything that may be due; a look without work writes nothing."""
        self._hand_over_orders()
        self._expire()
        self._clean_up()
        self._switch()
        self._announce_ends()
        self._announce_orphans()

    def ask_again(self) -> None:
        """Have the nodes asked what became of operations with an unknown outcome."""
        for operation in OperationStore(self.database).list_unknown():
            job = job_to_look_up(self.database, operation.id)
            if job is not None:
                self._submit(job)

    # --- orders of Owners -------------------------------------------------------------------

    def _hand_over_orders(self) -> None:
        """Sandbox operations that a command or a policy queued and nobody has taken yet."""
        for operation in self._list_orders():
            if operation.id in self._watched:
                continue
            self._watched.add(operation.id)
            job = self._job_of(operation)
            if job is not None and operation.state is OperationState.queued:
                self._submit(job)

    def _list_orders(self) -> tuple[Operation, ...]:
        found = OperationStore(self.database).list_open()
        return tuple(
            operation
            for operation in found
            if operation.origin.kind != "task" and operation.executor == SANDBOX_EXECUTOR
        )

    def _job_of(self, operation: Operation) -> SandboxJob | None:
        job = job_to_look_up(self.database, operation.id)
        if job is None or operation.state is not OperationState.queued:
            return job
        match job.kind:
            case JobKind.stop:
                return replace(job, work=Stop())
            case JobKind.delete:
                return replace(job, work=Delete())
            case _:
                return None

    # --- policies ---------------------------------------------------------------------------

    def _expire(self) -> None:
        rows = SandboxStore(self.database).list_living()
        due = find_expired(rows, self.idle_ms, now_ms())
        expired = self.settling.let_through(due, monotonic_s())
        self._settling_store.keep(self.settling.due_s)
        for deletion in expired:
            self._queue(deletion)

    def _clean_up(self) -> None:
        now = now_ms()
        for orphan in OrphanStore(self.database).list_open():
            is_due = orphan.cause in _CLEANED_BY_ITSELF and orphan.next_try_ms <= now
            if is_due and orphan.instance and self._answers(orphan.node):
                self._queue_clean_up(orphan)

    def _queue_clean_up(self, orphan: Orphan) -> None:
        row = SandboxStore(self.database).find(orphan.sandbox_id)
        if row is None:
            return
        reason = {"why": orphan.cause, "orphan": orphan.id, "attempts": orphan.attempts}
        self._queue(Deletion(row=row, action=LifecycleAction.clean, reason=reason))

    def _answers(self, node: str) -> bool:
        known = NodeStore(self.database).find(node)
        return known is None or known.state in ANSWERING

    def _queue(self, deletion: Deletion) -> None:
        try:
            with self.database.transaction():
                job = queue_deletion(self.database, self.policy, deletion)
        except PerlicaError as error:
            _log.warning("not queued", extra={"sandbox": deletion.row.id, "code": error.code})
            return
        if job is not None:
            self._watched.add(job.operation)
            self._submit(job)

    def _submit(self, job: SandboxJob) -> None:
        try:
            self.runner.submit(job)
        except PerlicaError as error:
            _log.warning("not taken", extra={"operation": job.operation, "code": error.code})
            if job.work is not None:
                self._give_back(job)

    def _give_back(self, job: SandboxJob) -> None:
        try:
            self.runner.abandon(job)
        except StaleState:
            return

    # --- the image switch -------------------------------------------------------------------

    def _switch(self) -> None:
        if not image_switch.is_under_way(self.database):
            return
        with self.database.transaction():
            step = image_switch.advance(self.database, self.policy)
            if step.moved is not None:
                self._tell_switch(step.moved)
        for job in step.jobs:
            self._watched.add(job.operation)
            self._submit(job)

    def _tell_switch(self, switch: ImageSwitch) -> None:
        if switch.state is SwitchState.blocked:
            text = say_switch_blocked(switch.reason, self.language)
        else:
            image = SandboxStore(self.database).image()
            revision = image.revision if image is not None else 0
            text = say_switch_done(switch.digest, revision, self.language)
        self._tell(f"switch:{switch.id}:{switch.state}:{switch.changed_at_ms}", text)

    # --- lines for the group ----------------------------------------------------------------

    def _announce_ends(self) -> None:
        """What became of the operations that were handed over."""
        operations = OperationStore(self.database)
        for operation_id in tuple(self._watched):
            operation = operations.find(operation_id)
            if operation is not None and operation.state in OPEN_STATES:
                continue
            self._watched.discard(operation_id)
            text = "" if operation is None else self._end_text(operation)
            if text:
                with self.database.transaction():
                    self._tell(f"ended:{operation_id}", text)

    def _end_text(self, operation: Operation) -> str:
        touched = SandboxStore(self.database).find_operation(operation.id)
        row = SandboxStore(self.database).find(touched.sandbox_id) if touched else None
        if row is None:
            return ""
        is_done = operation.state is OperationState.succeeded
        if operation.origin.kind == "command":
            fault = "" if is_done else _fault_of(operation)
            label = self.actions.label(operation.action, self.language)
            return say_command_ended(row.name, label, fault, self.language)
        if operation.action == LifecycleAction.expire and is_done:
            return say_expired(row.name, min(row.idle_ms, self.idle_ms), self.language)
        return ""

    def _announce_orphans(self) -> None:
        """One line for all that failed since the last one."""
        orphans = OrphanStore(self.database)
        new = [o for o in orphans.list_open() if not o.is_announced and _is_alarming(o)]
        if not new:
            return
        text = say_orphans([(o.name, o.reason or o.cause) for o in new], self.language)
        with self.database.transaction():
            for orphan in new:
                orphans.mark_announced(orphan.id)
            self._tell(f"orphans:{'-'.join(str(o.id) for o in new)}", text)

    def _tell(self, key: str, text: str) -> None:
        OutboxStore(self.database).enqueue(
            key=key, kind=OutboxKind.notice, content=protect(text, Channel.OUTBOX)
        )
        self.ring_outbox()


def _is_alarming(orphan: Orphan) -> bool:
    """A lost node's sandboxes were announced as lost; a remnant is no alarm before it resists."""
    return orphan.cause == "unknown" or orphan.attempts > 0


def _fault_of(operation: Operation) -> str:
    outcome = json.loads(operation.outcome.content or "{}")
    return str(outcome.get("reason") or operation.state.value)
