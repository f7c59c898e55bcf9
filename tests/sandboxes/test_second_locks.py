"""Checks of the sandbox rooms that stand behind others: each is looked at alone, close by."""

from collections.abc import Callable

import pytest

from perlica.domain.clock import now_ms
from perlica.domain.errors import OutcomeUnknown, PerlicaError, Refused, StaleState
from perlica.domain.ids import OperationId, SandboxName, TicketId, new_operation_id
from perlica.domain.node import NodeState
from perlica.domain.operation import OperationState
from perlica.domain.plan import Level
from perlica.domain.policy import Policy
from perlica.domain.ports import Delete, JobKind, SandboxJob
from perlica.domain.sandbox import (
    Absence,
    Action,
    ActionOutcome,
    BackendSandbox,
    OperationFate,
    OperationLookUp,
    SandboxImage,
    SandboxSpec,
    SandboxState,
)
from perlica.gateway.core.policy_file import read_policy
from perlica.sandboxes import image_switch, transitions
from perlica.sandboxes.lifecycle import Deletion, LifecycleAction, queue_deletion
from perlica.stores.database import Database
from perlica.stores.image_switches import NewSwitch, SwitchState
from perlica.stores.operations import OperationStore
from perlica.stores.orphans import Cause, OrphanStore
from perlica.stores.sandboxes import SandboxRow, SandboxStore
from tests.sandboxes.rig import Rig
from tests.sandboxes.stage import TroubledBackend
from tests.stores.conftest import db, path
from tests.stores.rows import IMAGE, queue, reserve, sealed, start

__all__ = ["db", "path"]

NEXT = SandboxImage(
    reference="local/next", digest="sha256:" + "2" * 64, introduction="新的", revision=2
)
WORKING = [kind for kind in JobKind if kind is not JobKind.create]


def ready(db: Database, name: str = "dev") -> SandboxRow:
    """A sandbox that may be used."""
    row = reserve(db, name)
    with db.transaction():
        return SandboxStore(db).move(
            row.id, before=row.state, after=SandboxState.ready, instance=f"i-{name}"
        )


def leave(db: Database, name: str, cause: Cause, *, failed: bool = False) -> SandboxRow:
    """Something that lies on a node without a slot of its own."""
    found = BackendSandbox(
        name=SandboxName(name),
        instance=f"i-{name}",
        state="ready",
        image_digest=IMAGE.digest,
        disk_bytes=1,
        disk_used_bytes=1,
    )
    with db.transaction():
        row = SandboxStore(db).adopt_unknown("node-1", found, sealed("x"))
        OrphanStore(db).note(row, cause, "sandbox_not_gone", failed=failed)
    return row


def job_in(row: SandboxRow, kind: JobKind) -> SandboxJob:
    """A job that stood queued when something else became unknown."""
    return SandboxJob(
        operation=new_operation_id(),
        sandbox=row.id,
        slot=row.slot or 0,
        node=row.node,
        name=row.name,
        instance=row.instance,
        kind=kind,
        work=Delete() if kind is JobKind.delete else None,
    )


def begin_switch(db: Database) -> None:
    """A switch to the next image, as an approval begins it."""
    with db.transaction():
        SandboxStore(db).set_image(IMAGE)
    switch = NewSwitch(
        ticket=TicketId("K0001"),
        operation=OperationId("op-1"),
        reference=NEXT.reference,
        digest=NEXT.digest,
        introduction=sealed(NEXT.introduction),
        current=IMAGE,
        doomed=image_switch.find_doomed(db),
    )
    with db.transaction():
        image_switch.begin(db, switch)


def advance(db: Database, policy: Policy | None = None) -> image_switch.Step:
    with db.transaction():
        return image_switch.advance(db, policy or read_policy(None))


# --- deletions by policy ----------------------------------------------------------------------


@pytest.mark.evidence(12)
def test_a_deletion_by_policy_names_its_operation_in_the_audit(rig: Rig) -> None:
    rig.create("main")

    rig.remove("main")

    (row,) = rig.column(
        """SELECT actor || ' ' || level || ' ' || (operation_id = (
            SELECT id FROM operations WHERE action = 'sandbox.clean'))
        FROM audit_events WHERE kind = 'lifecycle.deletion'"""
    )
    assert row == "lifecycle medium 1"


@pytest.mark.parametrize("action", list(LifecycleAction))
@pytest.mark.parametrize("level", [None, Level.high, Level.block])
@pytest.mark.evidence(8)
def test_nothing_is_deleted_by_a_policy_that_does_not_let_it_happen_by_itself(
    db: Database, action: LifecycleAction, level: Level | None
) -> None:
    row = ready(db)
    levels = {} if level is None else {(action.value, "lifecycle"): level}
    deletion = Deletion(row=row, action=action, reason={"why": "test"})

    with db.transaction():
        queued = queue_deletion(db, Policy(version="1", levels=levels), deletion)

    assert queued is None
    assert db.query("SELECT * FROM operations") == []
    assert db.query("SELECT * FROM audit_events") == []


def test_a_deletion_that_was_decided_on_an_older_look_is_not_queued(db: Database) -> None:
    seen = ready(db)
    deletion = Deletion(row=seen, action=LifecycleAction.expire, reason={"why": "idle"})
    with db.transaction():
        SandboxStore(db).touch(seen.id, now_ms() + 1_000)

    with db.transaction():
        assert queue_deletion(db, read_policy(None), deletion) is None


def test_two_deletions_of_one_sandbox_are_not_queued_beside_each_other(db: Database) -> None:
    deletion = Deletion(row=ready(db), action=LifecycleAction.expire, reason={"why": "idle"})

    with db.transaction():
        first = queue_deletion(db, read_policy(None), deletion)
        second = queue_deletion(db, read_policy(None), deletion)

    assert first is not None
    assert second is None


def test_a_sandbox_that_ended_is_cleaned_only_while_it_is_an_orphan(db: Database) -> None:
    row = leave(db, "ghost", "returned")
    deletion = Deletion(row=row, action=LifecycleAction.clean, reason={"why": "returned"})
    with db.transaction():
        OrphanStore(db).clear(row.id)

    with db.transaction():
        assert queue_deletion(db, read_policy(None), deletion) is None


# --- capacity -----------------------------------------------------------------------------------


@pytest.mark.parametrize("cause", ["returned", "unknown"])
def test_what_lies_on_a_node_without_a_slot_takes_the_room_of_a_sandbox(
    db: Database, cause: Cause
) -> None:
    reserve(db, "one")
    leave(db, "ghost", cause)
    leave(db, "spook", cause)

    with pytest.raises(Refused, match="sandbox_capacity"):
        reserve(db, "two")

    assert len(SandboxStore(db).list_living()) == 1


def test_what_was_cleaned_up_or_lost_with_its_node_takes_no_room(db: Database) -> None:
    cleared = leave(db, "ghost", "returned")
    leave(db, "spook", "node_lost")
    leave(db, "shade", "node_lost")
    with db.transaction():
        OrphanStore(db).clear(cleared.id)

    for name in ("one", "two", "three"):
        reserve(db, name)

    assert len(SandboxStore(db).list_living()) == 3


# --- the switch of the image --------------------------------------------------------------------


@pytest.mark.parametrize("cause", ["returned", "unknown"])
@pytest.mark.evidence(17)
def test_the_new_image_is_not_in_force_while_something_of_the_old_one_could_not_be_cleaned_up(
    db: Database, cause: Cause
) -> None:
    left = leave(db, "ghost", cause)
    begin_switch(db)
    with db.transaction():
        OrphanStore(db).note(left, cause, "sandbox_not_gone", failed=True)

    step = advance(db)

    assert step.moved is not None
    assert step.moved.state is SwitchState.blocked
    assert "ghost@node-1" in step.moved.reason
    assert SandboxStore(db).image() == IMAGE


@pytest.mark.evidence(17)
def test_the_new_image_comes_into_force_once_the_clean_up_is_confirmed(db: Database) -> None:
    left = leave(db, "ghost", "returned", failed=True)
    begin_switch(db)
    assert advance(db).moved is None  # It is tried again at once, and nothing is in force.
    with db.transaction():
        OrphanStore(db).clear(left.id)

    step = advance(db)

    assert step.moved is not None
    assert step.moved.state is SwitchState.activated
    assert SandboxStore(db).image() == NEXT


def test_a_switch_waits_with_its_reason_where_the_policy_deletes_nothing_by_itself(
    db: Database,
) -> None:
    ready(db)
    begin_switch(db)

    step = advance(db, Policy(version="1", levels={}))

    assert step.moved is not None
    assert (step.moved.state, step.moved.reason) == (SwitchState.blocked, "deletion_not_allowed")
    assert step.jobs == ()


@pytest.mark.evidence(17)
def test_a_creation_during_a_switch_is_told_of_the_switch_and_of_nothing_else(
    db: Database,
) -> None:
    for name in ("one", "two", "three"):
        ready(db, name)
    begin_switch(db)

    # Not `sandbox_capacity`: the store looks for the switch before it looks for a slot.
    with pytest.raises(Refused, match="image_switching"):
        reserve(db, "four")


# --- unknown outcomes ---------------------------------------------------------------------------


@pytest.mark.parametrize("kind", WORKING)
@pytest.mark.evidence(14)
def test_a_change_that_was_queued_before_an_outcome_became_unknown_does_not_begin(
    db: Database, kind: JobKind
) -> None:
    row = ready(db)
    lost = queue(db).id
    with db.transaction():
        SandboxStore(db).insert_operation(lost, row.id, "exec", is_write=True)
    start(db, lost)
    with db.transaction():
        OperationStore(db).mark_unknown(lost, "no_answer")

    with db.transaction():
        if kind in {JobKind.read, JobKind.list}:
            transitions.begin(db, job_in(row, kind))
        else:
            with pytest.raises(StaleState, match="sandbox_in_recovery"):
                transitions.begin(db, job_in(row, kind))


class Interrupted(TroubledBackend):
    """A node whose daemon dies in the middle of each call and remembers only that."""

    fate: OperationFate | None = None

    def _die(self) -> None:
        if self.fate is not None:
            raise OutcomeUnknown("sandboxd_gone", "the node stopped answering")

    def create(
        self, operation: OperationId, spec: SandboxSpec, image_digest: str
    ) -> BackendSandbox:
        self._die()
        return super().create(operation, spec, image_digest)

    def execute(self, operation: OperationId, **more: object) -> ActionOutcome:
        self._die()
        action = more["action"]
        assert isinstance(action, Action)
        return super().execute(operation, **more)  # type: ignore[arg-type]

    def stop(self, operation: OperationId, name: SandboxName, instance: str) -> BackendSandbox:
        self._die()
        return super().stop(operation, name, instance)

    def delete(self, operation: OperationId, name: SandboxName, instance: str) -> Absence:
        self._die()
        return super().delete(operation, name, instance)

    def look_up(self, operation: OperationId) -> OperationLookUp:
        if self.fate is not None:
            return OperationLookUp(fate=self.fate, reason="the node daemon died meanwhile")
        return super().look_up(operation)


FATES = [
    ("delete", OperationFate.interrupted, OperationState.unknown, "interrupted"),
    ("stop", OperationFate.interrupted, OperationState.unknown, "interrupted"),
    ("create", OperationFate.interrupted, OperationState.unknown, "interrupted"),
    ("exec", OperationFate.interrupted, OperationState.failed, "interrupted"),
    ("delete", OperationFate.not_seen, OperationState.failed, "never_started"),
    ("exec", OperationFate.not_seen, OperationState.failed, "never_started"),
    ("exec", OperationFate.failed, OperationState.failed, "failed"),
    ("exec", OperationFate.finished, OperationState.unknown, "no_outcome"),
]


@pytest.mark.parametrize(("kind", "fate", "state", "reason"), FATES)
@pytest.mark.evidence(14)
def test_what_a_node_remembers_of_an_interrupted_call_decides_what_is_said_of_it(
    make_rig: Callable[..., Rig],
    kind: str,
    fate: OperationFate,
    state: OperationState,
    reason: str,
) -> None:
    backend = Interrupted()
    rig = make_rig(backends={"test-node": backend})
    rig.create("main")
    backend.fate = fate

    if kind == "delete":
        with pytest.raises(PerlicaError):
            rig.remove("main")
    elif kind == "stop":
        rig.call("sandbox_manage", action="stop", name="main")
    elif kind == "create":
        rig.create("other")
    else:
        rig.run("true")

    (row,) = rig.column(
        """SELECT operations.state || ' ' || coalesce(json_extract(outcome, '$.reason'), '')
        FROM operations ORDER BY rowid DESC LIMIT 1"""
    )
    assert row == f"{state} {reason}"


def test_a_node_that_was_given_up_is_named_as_what_holds_a_switch_up(db: Database) -> None:
    leave(db, "ghost", "returned")
    begin_switch(db)
    with db.transaction():
        db.change(
            "INSERT INTO nodes (name, state, since_ms) VALUES ('node-1', :state, 0)",
            {"state": NodeState.unreachable.value},
        )

    step = advance(db)

    assert step.moved is not None
    assert step.moved.reason == "ghost@node-1: the node is unreachable"
