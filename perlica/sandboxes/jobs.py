"""Performing one sandbox job: operation row before the effect, backend call, outcome row after it.

Called by the serializer's worker threads, each with a database connection of its own.
"""

import time
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass

from perlica.domain.actions import ActionCatalog
from perlica.domain.cancel import CancelToken
from perlica.domain.clock import monotonic_s, now_ms
from perlica.domain.errors import (
    Cancelled,
    Misconfigured,
    OutcomeUnknown,
    PerlicaError,
    Refused,
    Retryable,
    StaleState,
    StoreUnavailable,
)
from perlica.domain.operation import OperationState
from perlica.domain.outbox import OutboxKind
from perlica.domain.ports import Create, Delete, JobKind, JobOutcome, SandboxJob, Stop
from perlica.domain.sandbox import (
    Absence,
    Action,
    ActionOutcome,
    BackendSandbox,
    Command,
    CommandOutcome,
    FileRead,
    FilesListed,
    FileWritten,
    LinesRead,
    OperationFate,
    OperationLookUp,
    ReadFile,
    ReadLines,
    SandboxState,
)
from perlica.domain.texts import Language
from perlica.domain.texts.notices import say_outcome_unknown
from perlica.protection import Channel, JsonValue, Protected, protect
from perlica.sandboxes import transitions
from perlica.sandboxes.completion import acknowledge_unread, tell_if_nobody_waits
from perlica.sandboxes.contract import SandboxBackend, StreamingBackend
from perlica.sandboxes.lines import read_lines
from perlica.sandboxes.nodes import Nodes
from perlica.sandboxes.progress import OutputWatch
from perlica.sandboxes.ranges import read_range
from perlica.stores.database import Database
from perlica.stores.operations import Operation, OperationStore
from perlica.stores.outbox import OutboxStore
from perlica.stores.sandboxes import SandboxStore

_POLL_S = 0.25
_ASK_WITHIN_S = 30.0
_AFTER_CANCEL_S = 8.0
_RECORD_TRIES = 3
_LIFECYCLE = frozenset({JobKind.create, JobKind.stop, JobKind.delete})


class NotRecorded(Exception):
    """The effect is there and its row cannot be written: the process must end and ask again.

    None of our own errors, so that nobody answers it: a restart settles the operation by its id.
    """


@dataclass(frozen=True, slots=True, kw_only=True)
class JobPerformer:
    """The rules of one job over a database connection and the nodes."""

    database: Database
    nodes: Nodes
    language: Language
    actions: ActionCatalog

    def perform(self, job: SandboxJob, cancel: CancelToken) -> JobOutcome:
        """Start, run and finish the job.

        Raises: Cancelled and what else `SandboxRunner.run` says; NotRecorded when the end cannot be
        written down.
        """
        if cancel.is_set:
            abandon(self.database, job)
            raise Cancelled("cancelled", "cancelled before it started")
        self._start_or_give_back(job)
        return self._conclude(job, lambda: self._call_or_look_up(job, cancel))

    def settle(self, job: SandboxJob, cancel: CancelToken, within_s: float) -> JobOutcome:
        """Conclude a job that was in hand at a crash, from what the backend remembers.

        A cancel stops what still runs. Raises: as `perform`; Cancelled when the process leaves,
        which changes nothing.
        """
        row = OperationStore(self.database).find(job.operation)
        is_open = row is not None and row.state in {
            OperationState.started,
            OperationState.unknown,
        }
        try:
            found = self._ask_until_ended(job, within_s, cancel)
        except OutcomeUnknown as error:
            if is_open:
                self._finish(job, OperationState.unknown, {"reason": error.code})
            raise
        if not is_open:
            return _outcome_of(job, found)
        return self._conclude(job, lambda: _outcome_of(job, found))

    # --- rows -------------------------------------------------------------------------------

    def _start_or_give_back(self, job: SandboxJob) -> None:
        """Start it; a job whose sandbox went away meanwhile is taken back and refused."""
        try:
            self._start(job)
        except StaleState as stale:
            abandon(self.database, job)
            raise Refused("sandbox_changed", "the sandbox changed; nothing was started") from stale

    def _start(self, job: SandboxJob) -> None:
        with self.database.transaction():
            OperationStore(self.database).start(job.operation)
            transitions.begin(self.database, job)

    def _conclude(self, job: SandboxJob, work: Callable[[], JobOutcome]) -> JobOutcome:
        """Run `work` and commit how it ended, whatever it raises of our own errors."""
        try:
            outcome = work()
        except OutcomeUnknown as error:
            self._finish(job, OperationState.unknown, {"reason": error.code})
            raise
        except Cancelled:
            self._finish(job, OperationState.cancelled, {})
            raise
        except PerlicaError as error:
            self._finish(job, OperationState.failed, {"reason": error.code})
            raise
        self._finish(job, state_of(outcome), facts_of(outcome), outcome)
        return outcome

    def _finish(
        self,
        job: SandboxJob,
        state: OperationState,
        facts: dict[str, JsonValue],
        outcome: JobOutcome | None = None,
    ) -> None:
        """Write down how it ended, unless somebody else did (an Owner who resolved it).

        Raises: NotRecorded when the database takes no write.
        """
        for tries_left in reversed(range(_RECORD_TRIES)):
            try:
                with suppress(StaleState):
                    self._write_end(job, state, facts, outcome)
                acknowledge_unread(self.database, self.nodes, job)
                return
            except StoreUnavailable as error:
                if not tries_left:
                    raise NotRecorded(job.operation) from error
            except Misconfigured as error:
                raise NotRecorded(job.operation) from error

    def _write_end(
        self,
        job: SandboxJob,
        state: OperationState,
        facts: dict[str, JsonValue],
        outcome: JobOutcome | None,
    ) -> None:
        with self.database.transaction():
            operations = OperationStore(self.database)
            if state is OperationState.unknown:
                ended = operations.mark_unknown(job.operation, str(facts["reason"]))
            else:
                ended = operations.finish(job.operation, state, protect_facts(facts))
            reason = str(facts.get("reason", ""))
            transitions.end(self.database, job, state, outcome=outcome, reason=reason)
            if state is OperationState.unknown:
                tell_unknown(self.database, ended, self.language, self.actions)
            tell_if_nobody_waits(self.database, ended, self.language, self.actions)

    # --- the backend ------------------------------------------------------------------------

    def _call_or_look_up(self, job: SandboxJob, cancel: CancelToken) -> JobOutcome:
        """The call's outcome; where the way to it was lost, what the backend says became of it."""
        try:
            return self._call(job, cancel)
        except OutcomeUnknown:
            return _outcome_of(job, self._ask_until_ended(job, _ASK_WITHIN_S, cancel))

    def _call(self, job: SandboxJob, cancel: CancelToken) -> JobOutcome:
        backend = self.nodes.of(job.node)
        match job.work:
            case Create(spec=spec, image_digest=digest):
                return backend.create(job.operation, spec, digest)
            case Stop():
                return backend.stop(job.operation, job.name, job.instance)
            case Delete():
                return _delete(backend, job)
            case ReadLines() as wanted:
                return read_lines(wanted, lambda piece: _read(backend, job, piece, cancel))
            case ReadFile() as wanted:
                return read_range(wanted, lambda piece: _read(backend, job, piece, cancel))
            case None:
                raise Refused("look_up_only", "this job is only looked up, never run")
            case Command() as command if isinstance(backend, StreamingBackend):
                watch = OutputWatch(database=self.database, operation=job.operation)
                return backend.stream_command(
                    job.operation,
                    name=job.name,
                    instance=job.instance,
                    action=command,
                    cancel=cancel,
                    on_output=watch.take,
                )
            case action:
                return _execute(backend, job, action, cancel)

    def _ask_until_ended(
        self, job: SandboxJob, within_s: float, cancel: CancelToken
    ) -> OperationLookUp:
        """What the backend says once the operation has ended; one being started is waited for.

        A cancel is passed on to what still runs; its end is asked for as ever.

        Raises: OutcomeUnknown when nobody can say in time; Cancelled when the process leaves.
        """
        deadline_s = monotonic_s() + within_s
        is_passed_on = False
        while (found := self._ask(job)) is None or found.fate is OperationFate.running:
            if cancel.is_leaving:
                raise Cancelled("left", "the service stops; the operation goes on")
            if cancel.is_set and not is_passed_on:
                is_passed_on = True
                self._stop_running(job)
                deadline_s = min(deadline_s, monotonic_s() + _AFTER_CANCEL_S)
            left_s = deadline_s - monotonic_s()
            if left_s <= 0:
                why = "backend_silent" if found is None else "still_running"
                raise OutcomeUnknown(why, "the node does not say how it ended")
            _pause(cancel, min(_POLL_S, left_s))
        return found

    def _stop_running(self, job: SandboxJob) -> None:
        with suppress(PerlicaError):
            self.nodes.of(job.node).cancel(job.operation)

    def _ask(self, job: SandboxJob) -> OperationLookUp | None:
        """What the backend says, None while it says nothing."""
        try:
            return self.nodes.of(job.node).look_up(job.operation)
        except PerlicaError:
            return None


def _pause(cancel: CancelToken, for_s: float) -> None:
    """A short wait, shorter when a cancel comes; one that came before changes nothing."""
    if cancel.is_set:
        time.sleep(for_s)
    else:
        cancel.wait(for_s)


def _execute(
    backend: SandboxBackend, job: SandboxJob, action: Action, cancel: CancelToken
) -> ActionOutcome:
    return backend.execute(
        job.operation, name=job.name, instance=job.instance, action=action, cancel=cancel
    )


def _read(
    backend: SandboxBackend, job: SandboxJob, piece: ReadFile, cancel: CancelToken
) -> FileRead:
    outcome = _execute(backend, job, piece, cancel)
    if not isinstance(outcome, FileRead):
        raise Refused("other_answer", "the node answered a read with something else")
    return outcome


def _delete(backend: SandboxBackend, job: SandboxJob) -> Absence:
    """The proof of absence, also where the node says that it holds no such instance any more."""
    try:
        return backend.delete(job.operation, job.name, job.instance)
    except Refused:
        found = backend.inspect(job.name)
        if found is not None and found.instance == job.instance:
            raise
    return Absence(name=job.name, instance=job.instance, checked_at_ms=now_ms())


def _outcome_of(job: SandboxJob, found: OperationLookUp) -> JobOutcome:
    """The outcome that was found. Raises: what the fate means to the caller."""
    match found.fate:
        case OperationFate.finished | OperationFate.output_lost if found.outcome is not None:
            return found.outcome
        case OperationFate.not_seen:
            raise Retryable("never_started", "the node never received it; nothing happened")
        case OperationFate.failed:
            raise Refused("failed", found.reason)
        case OperationFate.interrupted if job.kind in _LIFECYCLE:
            raise OutcomeUnknown("interrupted", found.reason)
        case OperationFate.interrupted:
            raise Refused("interrupted", found.reason)
        case _:
            raise OutcomeUnknown("no_outcome", "the backend holds no outcome")


def abandon(database: Database, job: SandboxJob) -> None:
    """Take a queued job back; a sandbox that was only reserved for it gives its slot back.

    Raises: StaleState when the worker has begun.
    """
    with database.transaction():
        OperationStore(database).abandon(job.operation)
        if job.kind is JobKind.create:
            SandboxStore(database).move(
                job.sandbox, before=SandboxState.creating, after=SandboxState.deleted
            )


def state_of(outcome: JobOutcome) -> OperationState:
    """What an outcome means for its operation: a command succeeds with exit code 0 alone."""
    if not isinstance(outcome, CommandOutcome):
        return OperationState.succeeded
    if outcome.ended == "cancelled":
        return OperationState.cancelled
    is_good = outcome.ended == "exited" and outcome.exit_code == 0
    return OperationState.succeeded if is_good else OperationState.failed


def facts_of(outcome: JobOutcome) -> dict[str, JsonValue]:
    """What an operation's row keeps of an outcome: how it ended and sizes, never content."""
    match outcome:
        case CommandOutcome():
            return {
                "ended": outcome.ended,
                "exit_code": outcome.exit_code,
                "signal": outcome.signal,
                "duration_ms": outcome.duration_ms,
                "stdout_bytes": outcome.stdout_bytes,
                "stderr_bytes": outcome.stderr_bytes,
                **({"out_of_memory": True} if outcome.out_of_memory else {}),
            }
        case FileRead():
            return {"size_bytes": outcome.size_bytes, "read_bytes": len(outcome.content)}
        case LinesRead():
            return {"size_bytes": outcome.size_bytes, "read_bytes": len(outcome.content)}
        case FilesListed():
            return {"entries": len(outcome.entries), "complete": outcome.complete}
        case FileWritten():
            return {"size_bytes": outcome.size_bytes, "replaced": outcome.replaced}
        case BackendSandbox():
            return {"state": outcome.state, "instance": outcome.instance}
        case Absence():
            return {"absent": True, "instance": outcome.instance}


def protect_facts(facts: dict[str, JsonValue]) -> Protected:
    """Facts as protected JSON; facts whose scan did not finish are left out, not the row."""
    detail = protect(facts, Channel.AUDIT)
    return detail if detail.content else protect({}, Channel.AUDIT)


def tell_unknown(
    database: Database, operation: Operation, language: Language, actions: ActionCatalog
) -> None:
    """Tell the group that an operation waits in the recovery queue, once for each."""
    text = say_outcome_unknown(operation.id, actions.label(operation.action, language), language)
    OutboxStore(database).enqueue(
        key=f"unknown:{operation.id}",
        kind=OutboxKind.notice,
        content=protect(text, Channel.OUTBOX),
    )


def mark_unknown(database: Database, job: SandboxJob, reason: str) -> None:
    """Put a job whose worker does not answer into the recovery queue.

    Raises: StaleState when it has ended after all.
    """
    with database.transaction():
        OperationStore(database).mark_unknown(job.operation, reason)
        transitions.end(database, job, OperationState.unknown, outcome=None, reason=reason)
