"""SandboxSerializer: the order of actions and lifecycle in one sandbox slot.

The gateway tells it a job through `SerializerRunner`; its handlers never block, two worker threads
do the work: one for everything that writes, one for reads beside it.
"""

import logging
import queue
import threading
from collections.abc import Callable, Mapping
from concurrent.futures import Future, InvalidStateError
from concurrent.futures import TimeoutError as FutureTimeoutError
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path

from actors.base import Alarm, PerlicaActor, Ref, tell_safely
from actors.messages import Act
from perlica.domain.cancel import CancelToken
from perlica.domain.errors import (
    Cancelled,
    OutcomeUnknown,
    PerlicaError,
    Refused,
    Retryable,
    StaleState,
)
from perlica.domain.ids import OperationId
from perlica.domain.ports import JobOutcome, SandboxJob
from perlica.domain.texts import Language
from perlica.sandboxes.contract import SandboxBackend
from perlica.sandboxes.jobs import JobPerformer, abandon, mark_unknown
from perlica.stores.database import Database

_log = logging.getLogger(__name__)

_AFTER_CANCEL_S = 10.0


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
    """One thread with a database connection of its own; ends on None."""

    name: str
    database_path: Path
    backend: SandboxBackend
    language: Language
    alarm: Alarm
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
                    database=database, backend=self.backend, language=self.language
                )
                self._do(performer, assignment)
        except Exception as error:  # noqa: BLE001 - a worker must not die unnoticed
            self.alarm.ring(self.name, error)
        finally:
            if database is not None:
                database.close()

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


class SandboxSerializer(PerlicaActor):
    """One for each slot; `Act` goes to the writing or the reading worker in arrival order."""

    def __init__(
        self,
        *,
        slot: int,
        database_path: Path,
        backend: SandboxBackend,
        language: Language,
        alarm: Alarm,
    ) -> None:
        """Prepare the workers; they start with the actor."""
        super().__init__(name=f"serializer-{slot}", alarm=alarm)
        self._writer, self._reader = (
            _Worker(
                name=f"sandbox-{slot}-{kind}",
                database_path=database_path,
                backend=backend,
                language=language,
                alarm=alarm,
            )
            for kind in ("writes", "reads")
        )

    def begin(self) -> None:
        """Start both workers; their connections open with the first job."""
        self._writer.start()
        self._reader.start()

    def end(self) -> None:
        """Let the workers end after the job in hand; a job that hangs is left to the process."""
        self._writer.jobs.put(None)
        self._reader.jobs.put(None)

    def handle(self, message: object) -> object:
        """Hand the job on; never blocks."""
        match message:
            case Act(request=Assignment() as assignment):
                worker = self._writer if assignment.job.writes else self._reader
                worker.jobs.put(assignment)
            case _:
                raise TypeError(type(message).__name__)
        return None


@dataclass(frozen=True, slots=True)
class SerializerRunner:
    """`SandboxRunner` over the serializers; `database` gives the caller's own connection."""

    serializers: Mapping[int, Ref]
    backend: SandboxBackend | None
    database: Callable[[], Database]

    def run(self, job: SandboxJob, cancel: CancelToken, *, within_s: float) -> JobOutcome:
        """See SandboxRunner."""
        assignment = Assignment(job=job, cancel=CancelToken(), reply=Future())
        self._tell(assignment)
        _wait(assignment.reply, cancel, within_s)
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
        _wait(assignment.reply, cancel, within_s + _AFTER_CANCEL_S)
        if not assignment.reply.done():
            assignment.cancel.set()
            cancel.check()
            raise OutcomeUnknown("no_answer", "the sandbox's worker did not answer")
        return assignment.reply.result()

    def abandon(self, job: SandboxJob) -> None:
        """See SandboxRunner."""
        abandon(self.database(), job)

    def acknowledge(self, operation: OperationId) -> None:
        """See SandboxRunner; what the backend still holds it bounds by itself."""
        try:
            if self.backend is not None:
                self.backend.acknowledge(operation)
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


def _wait(reply: "Future[JobOutcome]", cancel: CancelToken, within_s: float) -> None:
    """Until there is a reply, the token is set or the time is over."""
    ended = threading.Event()
    reply.add_done_callback(lambda _: ended.set())
    with cancel.on_cancel(ended.set):
        ended.wait(within_s)
