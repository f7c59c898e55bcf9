"""SandboxSerializer: the order of actions and lifecycle in one sandbox slot.

The gateway tells it a job through `SerializerRunner`; its handlers never block. Each sandbox that
holds the slot gets two worker threads of its own: one for everything that writes, one for reads
beside it. So what still hangs in an earlier sandbox, on a node that is lost, holds up nobody.
"""

import logging
import queue
import threading
from collections.abc import Callable, Mapping
from concurrent.futures import Future, InvalidStateError
from concurrent.futures import TimeoutError as FutureTimeoutError
from contextlib import AbstractContextManager, nullcontext, suppress
from dataclasses import dataclass, field
from pathlib import Path

from actors.base import Alarm, PerlicaActor, Ref, tell_safely
from actors.messages import Act
from perlica.domain.actions import ActionCatalog
from perlica.domain.cancel import CancelToken, wait_for
from perlica.domain.errors import (
    Cancelled,
    OutcomeUnknown,
    PerlicaError,
    Refused,
    Retryable,
    StaleState,
)
from perlica.domain.ids import OperationId, RowId
from perlica.domain.ports import JobKind, JobOutcome, SandboxJob
from perlica.domain.texts import Language
from perlica.sandboxes.jobs import JobPerformer, abandon, mark_unknown
from perlica.sandboxes.nodes import Nodes
from perlica.sandboxes.recovery import job_to_look_up
from perlica.stores.database import Database

_log = logging.getLogger(__name__)

_AFTER_CANCEL_S = 10.0
_SETTLE_WITHIN_S = 1.0


@dataclass(frozen=True, slots=True, kw_only=True)
class Assignment:
    """A job with the one who waits for it; its own token, so that a stop of the wait stops no job.

    With `settle_within_s` an old job is looked up instead of run.
    """

    job: SandboxJob
    cancel: CancelToken
    reply: "Future[JobOutcome]"
    settle_within_s: float | None = None


@dataclass(slots=True)
class _Worker:
    """One thread with a database connection of its own; ends on None.

    `reading` is held during a read, and by the writer for a stop or a deletion.
    """

    name: str
    database_path: Path
    nodes: Nodes
    language: Language
    actions: ActionCatalog
    alarm: Alarm
    reading: threading.Lock
    jobs: "queue.SimpleQueue[Assignment | None]" = field(default_factory=queue.SimpleQueue)
    thread: threading.Thread | None = None

    def start(self) -> None:
        self.thread = threading.Thread(target=self._run, name=self.name, daemon=True)
        self.thread.start()

    def _run(self) -> None:
        database: Database | None = None
        try:
            while (assignment := self.jobs.get()) is not None:
                if database is None:
                    database = Database.open(self.database_path)
                performer = JobPerformer(
                    database=database,
                    nodes=self.nodes,
                    language=self.language,
                    actions=self.actions,
                )
                with self._turn(assignment.job):
                    self._do(performer, assignment)
        except Exception as error:  # noqa: BLE001 - a worker must not die unnoticed
            self.alarm.ring(self.name, error)
        finally:
            if database is not None:
                database.close()

    def _turn(self, job: SandboxJob) -> AbstractContextManager[object]:
        """A stop and a deletion wait for the read in hand; a read waits for them."""
        excludes_reads = not job.writes or job.kind in {JobKind.stop, JobKind.delete}
        return self.reading if excludes_reads else nullcontext()

    def _do(self, performer: JobPerformer, assignment: Assignment) -> None:
        try:
            if assignment.settle_within_s is None:
                outcome = performer.perform(assignment.job, assignment.cancel)
            else:
                outcome = performer.settle(
                    assignment.job, assignment.cancel, assignment.settle_within_s
                )
        except PerlicaError as error:
            _answer(assignment.reply, error=error)
        except BaseException as error:
            _answer(assignment.reply, error=error)
            raise
        else:
            _answer(assignment.reply, outcome=outcome)


def _answer(
    reply: "Future[JobOutcome]",
    *,
    outcome: JobOutcome | None = None,
    error: BaseException | None = None,
) -> None:
    """Set the reply; the caller may have given up, then the operation's row tells the end."""
    try:
        if error is not None:
            reply.set_exception(error)
        elif outcome is not None:
            reply.set_result(outcome)
    except InvalidStateError:
        _log.warning("late outcome of a sandbox job that nobody waits for")


@dataclass(frozen=True, slots=True)
class _Pair:
    """The two workers of one sandbox."""

    sandbox: RowId
    writer: _Worker
    reader: _Worker

    def take(self, assignment: Assignment) -> None:
        """Into the queue of the one or the other, in arrival order."""
        worker = self.writer if assignment.job.writes else self.reader
        worker.jobs.put(assignment)

    def end(self) -> None:
        """Let both end after the job in hand; a job that hangs is left to the process."""
        self.writer.jobs.put(None)
        self.reader.jobs.put(None)


class SandboxSerializer(PerlicaActor):
    """One for each slot, and one (slot 0) for what is left of sandboxes that hold none."""

    def __init__(
        self,
        *,
        slot: int,
        database_path: Path,
        nodes: Nodes,
        language: Language,
        actions: ActionCatalog,
        alarm: Alarm,
    ) -> None:
        """Keep the parts; workers start with the first job of a sandbox."""
        super().__init__(name=f"serializer-{slot}", alarm=alarm)
        self._slot = slot
        self._path = database_path
        self._nodes = nodes
        self._language = language
        self._actions = actions
        self._pair: _Pair | None = None

    def end(self) -> None:
        """Let the workers end."""
        if self._pair is not None:
            self._pair.end()

    def handle(self, message: object) -> object:
        """Hand the job on; never blocks."""
        match message:
            case Act(request=Assignment() as assignment):
                self._pair_for(assignment.job.sandbox).take(assignment)
            case _:
                raise TypeError(type(message).__name__)
        return None

    def _pair_for(self, sandbox: RowId) -> _Pair:
        """The workers of the sandbox that holds the slot; those of an earlier one end."""
        if self._pair is not None and self._pair.sandbox == sandbox:
            return self._pair
        if self._pair is not None:
            self._pair.end()
        reading = threading.Lock()
        writer, reader = (self._start_worker(kind, reading) for kind in ("writes", "reads"))
        self._pair = _Pair(sandbox, writer, reader)
        return self._pair

    def _start_worker(self, kind: str, reading: threading.Lock) -> _Worker:
        worker = _Worker(
            name=f"sandbox-{self._slot}-{kind}",
            database_path=self._path,
            nodes=self._nodes,
            language=self._language,
            actions=self._actions,
            alarm=self._alarm,
            reading=reading,
        )
        worker.start()
        return worker


@dataclass(frozen=True, slots=True)
class SerializerRunner:
    """`SandboxRunner` over the serializers; `database` gives the caller's own connection."""

    serializers: Mapping[int, Ref]
    nodes: Nodes
    database: Callable[[], Database]

    def run(self, job: SandboxJob, cancel: CancelToken, *, within_s: float) -> JobOutcome:
        """See SandboxRunner."""
        assignment = Assignment(job=job, cancel=CancelToken(), reply=Future())
        self._tell(assignment)
        wait_for(assignment.reply, cancel, within_s)
        if not assignment.reply.done():
            self._give_up(assignment, cancel)
        try:
            return assignment.reply.result()
        except Cancelled as error:
            if cancel.is_set:
                raise
            raise Refused("too_slow", "stopped: it took longer than allowed") from error

    def settle(self, job: SandboxJob, cancel: CancelToken, *, within_s: float) -> JobOutcome:
        """See SandboxRunner."""
        assignment = Assignment(
            job=job, cancel=CancelToken(), reply=Future(), settle_within_s=within_s
        )
        self._tell(assignment)
        wait_for(assignment.reply, cancel, within_s + _AFTER_CANCEL_S)
        if cancel.is_leaving:
            assignment.cancel.leave()
            cancel.check()
        if not assignment.reply.done():
            assignment.cancel.set()
            self._wait_for_end(assignment)
        return assignment.reply.result()

    def submit(self, job: SandboxJob, *, stops: bool = False) -> None:
        """See SandboxRunner."""
        cancel = CancelToken()
        if stops:
            cancel.set()
        looks_for_s = _AFTER_CANCEL_S if stops else _SETTLE_WITHIN_S
        assignment = Assignment(
            job=job,
            cancel=cancel,
            reply=Future(),
            settle_within_s=looks_for_s if job.work is None else None,
        )
        self._tell(assignment)

    def abandon(self, job: SandboxJob) -> None:
        """See SandboxRunner."""
        abandon(self.database(), job)

    def acknowledge(self, operation: OperationId) -> None:
        """See SandboxRunner; what the backend still holds it bounds by itself."""
        job = job_to_look_up(self.database(), operation)
        if job is None:
            return
        try:
            self.nodes.of(job.node).acknowledge(operation)
        except PerlicaError as error:
            _log.info("not acknowledged", extra={"operation": operation, "code": error.code})

    def _tell(self, assignment: Assignment) -> None:
        job = assignment.job
        act = Act(operation=job.operation, request=assignment, reply=assignment.reply)
        if not tell_safely(self.serializers.get(job.slot), act):
            raise Retryable("no_serializer", "this sandbox cannot be reached now")

    def _give_up(self, assignment: Assignment, cancel: CancelToken) -> None:
        """Leave the queue, or, when the worker was faster, stop the action and wait for its end.

        A token that is leaving stops nothing: the next process settles the operation.
        """
        try:
            abandon(self.database(), assignment.job)
        except StaleState:
            if cancel.is_leaving:
                raise Cancelled("left", "the service stops; the operation goes on") from None
            assignment.cancel.set()
            self._wait_for_end(assignment)
            return
        if cancel.is_set:
            raise Cancelled("cancelled", "cancelled before it started")
        raise Retryable("sandbox_busy", "the sandbox was busy for too long; nothing was started")

    def _wait_for_end(self, assignment: Assignment) -> None:
        """The end of a job that was asked to stop, for a short time."""
        try:
            assignment.reply.exception(timeout=_AFTER_CANCEL_S)
        except FutureTimeoutError:
            with suppress(StaleState):
                mark_unknown(self.database(), assignment.job, "no_answer")
            raise OutcomeUnknown("no_answer", "the sandbox did not answer in time") from None
