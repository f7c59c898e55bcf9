"""Runs each mutating request at most once and remembers its answer.

A request is looked up, then written to the journal, then carried out, then its answer is written.
Whatever comes in with the same id later gets that answer, also from the next daemon.
"""

import hashlib
import logging
from collections.abc import Callable
from dataclasses import dataclass
from typing import TypeVar

from pydantic import BaseModel, TypeAdapter

from sandboxd.faults import Busy, Fault, NotFound, OutcomeUnknown, Refused, fault_of
from sandboxd.ledger.epoch import Epoch
from sandboxd.ledger.journal import Entry, Journal
from sandboxd.ledger.outputs import Outputs
from sandboxd.milestones import reached
from sandboxd.wire import (
    AcknowledgeAnswer,
    ErrorAnswer,
    ExecOutcome,
    OperationId,
    OperationList,
    OperationReport,
    OperationSummary,
    Outcome,
    encode_bytes,
)

_log = logging.getLogger(__name__)
_OUTCOMES: TypeAdapter[Outcome] = TypeAdapter(Outcome)
_LISTED = 1000
_OUTPUT_FIELDS = {"stdout_base64", "stderr_base64"}
_Answer = TypeVar("_Answer", bound=BaseModel)


@dataclass(frozen=True, slots=True, kw_only=True)
class Request:
    """What identifies a mutating request. `body` is hashed with a key of the node, so that the
    journal gives no way to guess what a short command said.
    """

    operation: str
    epoch: int
    kind: str
    sandbox: str
    body: str


class Operations:
    """Thread-safe."""

    def __init__(
        self,
        *,
        journal: Journal,
        outputs: Outputs,
        epoch: Epoch,
        key: bytes,
        clock_ms: Callable[[], int],
    ) -> None:
        self._journal = journal
        self._outputs = outputs
        self._epoch = epoch
        self._key = key
        self._clock_ms = clock_ms

    @property
    def epoch(self) -> int:
        """The highest epoch seen."""
        return self._epoch.highest

    def admit(self, epoch: int) -> None:
        """Refuses what belongs to an older epoch. Raises: Refused."""
        self._epoch.admit(epoch)

    def count_unacknowledged(self) -> int:
        """Answers that no caller has confirmed."""
        return self._journal.count_unacknowledged()

    def perform(
        self,
        request: Request,
        answer: type[_Answer],
        *,
        check: Callable[[], str],
        effect: Callable[[], _Answer],
    ) -> _Answer:
        """The answer to `request`, by carrying it out or from the journal.

        `check` runs before anything is recorded and returns the instance it concerns; its faults
        leave the id unused. Faults of `effect` are recorded as the answer.
        """
        self.admit(request.epoch)
        digest = self._hash(request)
        recorded = self._journal.find(request.operation)
        if recorded is None:
            entry = Entry(
                operation=request.operation,
                kind=request.kind,
                sandbox=request.sandbox,
                instance=check(),
                body_hash=digest,
                started_at_ms=self._clock_ms(),
            )
            if self._journal.start(entry):
                reached("journal started")
                return self._carry_out(request, effect)
            recorded = self._journal.find(request.operation)
        if recorded is None or recorded.body_hash != digest:
            raise Refused(
                f"the operation {request.operation} was another request",
                remedy="give every request an id of its own",
            )
        return self._repeat(recorded, answer)

    def _hash(self, request: Request) -> str:
        text = f"{request.kind}\0{request.sandbox}\0{request.body}"
        return hashlib.blake2b(text.encode("utf-8"), key=self._key, digest_size=32).hexdigest()

    def _carry_out(self, request: Request, effect: Callable[[], _Answer]) -> _Answer:
        try:
            done = effect()
            reached("effect done")
        except Fault as fault:
            self._record_failure(request, fault)
            raise
        except BaseException as error:
            unknown = OutcomeUnknown("the daemon failed inside", remedy="see the log of sandboxd")
            self._record_failure(request, unknown)
            raise unknown from error
        if isinstance(done, ExecOutcome):
            self._outputs.put(request.operation, done.stdout, done.stderr)
            reached("output kept")
        self._record(request, done.model_dump_json(exclude=_OUTPUT_FIELDS), succeeded=True)
        _log.info("%s %s %s: done", request.kind, request.sandbox, request.operation)
        return done

    def _record_failure(self, request: Request, fault: Fault) -> None:
        fault.is_recorded = True
        self._record(request, fault.answer().model_dump_json(), succeeded=False)
        words = " | ".join((fault.message, *fault.kernel))
        _log.warning(
            "%s %s %s: %s: %s",
            *(request.kind, request.sandbox, request.operation, fault.code, words),
        )

    def _record(self, request: Request, outcome: str, *, succeeded: bool) -> None:
        try:
            self._journal.finish(
                request.operation, at_ms=self._clock_ms(), succeeded=succeeded, outcome=outcome
            )
            reached("journal finished")
        except Fault as fault:
            raise OutcomeUnknown(
                f"the end of the operation {request.operation} could not be recorded",
                remedy=fault.remedy,
                kernel=fault.kernel,
            ) from fault

    def _repeat(self, entry: Entry, answer: type[_Answer]) -> _Answer:
        if entry.phase == "started":
            raise Busy(f"the operation {entry.operation} is running")
        if entry.phase == "interrupted":
            raise OutcomeUnknown(
                f"the operation {entry.operation} was interrupted by the end of the daemon",
                remedy="nothing of it runs any more; look at the sandbox before asking again",
            )
        if not entry.succeeded:
            raise fault_of(ErrorAnswer.model_validate_json(entry.outcome))
        outcome = self._outcome_of(entry)
        if not isinstance(outcome, answer):
            raise Refused(f"the operation {entry.operation} was another request")
        return outcome

    def _outcome_of(self, entry: Entry) -> Outcome:
        outcome = _OUTCOMES.validate_json(entry.outcome)
        if not isinstance(outcome, ExecOutcome):
            return outcome
        if outcome.stdout_bytes + outcome.stderr_bytes == 0:
            return outcome
        kept = self._outputs.get(entry.operation)
        if kept is None:
            return outcome.model_copy(update={"output_lost": True})
        return outcome.model_copy(
            update={"stdout_base64": encode_bytes(kept[0]), "stderr_base64": encode_bytes(kept[1])}
        )

    def report(self, operation: OperationId) -> OperationReport:
        """What became of an operation."""
        entry = self._journal.find(operation)
        if entry is None:
            return OperationReport(operation=operation, state="unknown")
        failure, outcome = None, None
        if entry.phase == "finished" and entry.succeeded:
            outcome = self._outcome_of(entry)
        elif entry.phase == "finished":
            failure = ErrorAnswer.model_validate_json(entry.outcome)
        is_lost = isinstance(outcome, ExecOutcome) and outcome.output_lost
        return OperationReport(
            operation=operation,
            state="output_lost" if is_lost else entry.phase,
            sandbox=entry.sandbox,
            started_at_ms=entry.started_at_ms,
            finished_at_ms=entry.finished_at_ms or None,
            outcome=outcome,
            failure=failure,
        )

    def drop_outputs(self, of: Callable[[str], bool]) -> None:
        """Forgets the outputs of the instances that `of` says; they end with their sandbox."""
        for operation in self._outputs.kept():
            entry = self._journal.find(operation)
            if entry is None or of(entry.instance):
                self._outputs.drop(operation)

    def summaries(self) -> OperationList:
        """The newest operations, without outcomes."""
        newest = self._journal.entries()[-_LISTED:]
        return OperationList(operations=tuple(_summary_of(entry) for entry in newest))

    def acknowledge(self, operation: OperationId) -> AcknowledgeAnswer:
        """Forgets the output. Raises: NotFound, Busy while it runs."""
        if self._journal.find(operation) is None:
            raise NotFound(f"there is no operation {operation}")
        if not self._journal.acknowledge(operation):
            raise Busy(f"the operation {operation} is running")
        self._outputs.drop(operation)
        return AcknowledgeAnswer(operation=operation, acknowledged=True)


def _summary_of(entry: Entry) -> OperationSummary:
    failed = entry.phase == "finished" and not entry.succeeded
    return OperationSummary(
        operation=OperationId(entry.operation),
        kind=entry.kind,
        sandbox=entry.sandbox,
        state=entry.phase,
        error=ErrorAnswer.model_validate_json(entry.outcome).error if failed else "",
        started_at_ms=entry.started_at_ms,
        finished_at_ms=entry.finished_at_ms or None,
        acknowledged=entry.acknowledged,
    )
