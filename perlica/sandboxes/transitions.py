"""What the beginning and the end of a job mean for its sandbox: state, last use, orphan.

Called by the job's performer inside the transactions that start and end the operation's row.
"""

from typing import Final

from perlica.domain.clock import now_ms
from perlica.domain.errors import StaleState
from perlica.domain.operation import OperationState
from perlica.domain.ports import Delete, JobKind, JobOutcome, SandboxJob
from perlica.domain.sandbox import BackendSandbox, SandboxState
from perlica.protection import Channel, protect
from perlica.stores.database import Database
from perlica.stores.operations import OperationStore
from perlica.stores.orphans import Cause, OrphanStore
from perlica.stores.progress import ProgressStore
from perlica.stores.sandboxes import SandboxRow, SandboxStore

LIFECYCLE_IDENTITY: Final = "lifecycle"
"""Who acts when a configured policy does, not a person: expiry, image switch, clean-up."""

NEVER_STARTED: Final = "never_started"
"""The code of an operation that its node never received."""

_USABLE = frozenset({SandboxState.ready, SandboxState.stopped})


def begin(database: Database, job: SandboxJob) -> None:
    """Make the sandbox's row ready for the job.

    Raises: StaleState when it is being deleted, has ended, or takes no changes now.
    """
    sandboxes = SandboxStore(database)
    match job.kind:
        case JobKind.delete:
            _begin_deletion(database, job)
        case JobKind.create:
            pass
        case JobKind.stop:
            _refuse_while_unknown(database, job)
            row = sandboxes.find(job.sandbox)
            if row is None or row.state not in _USABLE:
                raise StaleState("sandbox_ending", f"sandbox row {job.sandbox} is ending")
        case JobKind.list:
            return  # Looking at names is no use of a sandbox.
        case JobKind.exec | JobKind.read | JobKind.write:
            if job.writes:
                _refuse_while_unknown(database, job)
            _wake(database, sandboxes.find(job.sandbox))
            sandboxes.touch(job.sandbox, now_ms())


def end(
    database: Database,
    job: SandboxJob,
    state: OperationState,
    *,
    outcome: JobOutcome | None,
    reason: str,
) -> None:
    """Move the sandbox's row as the operation's end says; `reason` is a code, "" for success."""
    if job.kind is JobKind.exec:
        ProgressStore(database).clear(job.operation)
    row = SandboxStore(database).find(job.sandbox)
    if row is None:
        return
    match job.kind:
        case JobKind.create:
            _end_creation(database, row, state=state, outcome=outcome, reason=reason)
        case JobKind.delete:
            _end_deletion(database, job, row, state=state, reason=reason)
        case JobKind.stop if state is OperationState.succeeded and row.state in _USABLE:
            SandboxStore(database).move(row.id, before=row.state, after=SandboxState.stopped)
        case JobKind.stop | JobKind.list:
            return
        case _ if outcome is not None and row.state in _USABLE:
            # A use lasts until its end.
            SandboxStore(database).touch(row.id, now_ms())
        case _:
            return


def _wake(database: Database, row: SandboxRow | None) -> None:
    """A stopped sandbox is started by its use: it is not called stopped any longer."""
    if row is not None and row.state is SandboxState.stopped:
        SandboxStore(database).move(row.id, before=row.state, after=SandboxState.ready)


def confirm_absence(database: Database, row: SandboxRow) -> None:
    """Nothing of it is left: slot and name are free, and what was unknown about it is settled."""
    if row.slot is not None:
        SandboxStore(database).move(row.id, before=row.state, after=SandboxState.deleted)
    OrphanStore(database).clear(row.id)
    operations = OperationStore(database)
    detail = protect({"absent": True}, Channel.AUDIT)
    for operation in SandboxStore(database).list_unknown(row.id):
        if operation.kind == "delete":
            operations.finish(operation.operation_id, OperationState.succeeded, detail)
        elif operation.kind in {"create", "stop"}:
            operations.finish(operation.operation_id, OperationState.failed, detail)


# --- deletion -------------------------------------------------------------------------------


def _begin_deletion(database: Database, job: SandboxJob) -> None:
    row = SandboxStore(database).find(job.sandbox)
    if row is None:
        raise StaleState("sandbox_gone", f"sandbox row {job.sandbox} is gone")
    if row.slot is None:
        if OrphanStore(database).find_for(row.id) is None:
            raise StaleState("sandbox_gone", f"sandbox row {job.sandbox} has ended")
        return
    if not _is_policy(database, job):
        _refuse_while_unknown(database, job)
    condition = job.work.untouched_since_ms if isinstance(job.work, Delete) else None
    SandboxStore(database).begin_deletion(row.id, untouched_since_ms=condition)


def _end_deletion(
    database: Database, job: SandboxJob, row: SandboxRow, *, state: OperationState, reason: str
) -> None:
    """A deletion that failed is tried again, unless a person asked for it and nothing was done."""
    if state is OperationState.succeeded:
        confirm_absence(database, row)
        return
    orphans = OrphanStore(database)
    if row.slot is None:
        known = orphans.find_for(row.id)
        orphans.note(row, known.cause if known else "returned", reason, failed=True)
        return
    is_unknown = state is OperationState.unknown
    if not is_unknown and not _is_policy(database, job):
        if row.state in {SandboxState.deleting, SandboxState.unconfirmed}:
            SandboxStore(database).move(row.id, before=row.state, after=SandboxState.ready)
            orphans.clear(row.id)
        return
    moved = SandboxStore(database).move(
        row.id, before=row.state, after=SandboxState.unconfirmed, reason=reason
    )
    cause: Cause = "unconfirmed" if is_unknown else "delete_failed"
    # What a crash kept from being tried has not failed: it is tried again at once, without alarm.
    orphans.note(moved, cause, reason, failed=reason != NEVER_STARTED)


def _is_policy(database: Database, job: SandboxJob) -> bool:
    operation = OperationStore(database).find(job.operation)
    return operation is not None and operation.identity == LIFECYCLE_IDENTITY


# --- creation -------------------------------------------------------------------------------


def _end_creation(
    database: Database,
    row: SandboxRow,
    *,
    state: OperationState,
    outcome: JobOutcome | None,
    reason: str,
) -> None:
    sandboxes, orphans = SandboxStore(database), OrphanStore(database)
    if row.slot is None:
        return
    match state, outcome:
        case OperationState.unknown, _:
            moved = sandboxes.move(
                row.id, before=row.state, after=SandboxState.unconfirmed, reason=reason
            )
            orphans.note(moved, "unconfirmed", reason, failed=False)
        case OperationState.succeeded, BackendSandbox() as made:
            sandboxes.move(
                row.id, before=row.state, after=SandboxState.ready, instance=made.instance
            )
            orphans.clear(row.id)
        case _:
            sandboxes.move(row.id, before=row.state, after=SandboxState.deleted, reason=reason)
            orphans.clear(row.id)


def _refuse_while_unknown(database: Database, job: SandboxJob) -> None:
    if SandboxStore(database).has_unknown(job.sandbox):
        raise StaleState("sandbox_in_recovery", "an earlier operation is unknown")
