"""Kinds of work: how a plan is carried out, and what follows from it for locks, crashes, the seal.

`Read` looks at our own tables, `Change` writes them, `Queued` is handed to a named executor,
`Remote` is one call to somewhere outside. A tool says which; `perlica.gateway.core.execution` does
the rest.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, Final, Protocol, TypeAlias

from perlica.domain.cancel import CancelToken
from perlica.domain.clock import monotonic_s
from perlica.domain.errors import Refused
from perlica.domain.ids import OperationId, TicketId
from perlica.domain.operation import CHANGE, READ, REMOTE, REMOTE_READ
from perlica.domain.ports import SANDBOX_EXECUTOR
from perlica.protection import Protected

_INSIDE: Final = frozenset({"perlica", "sandbox", "node", "nodes"})
"""Kinds of destination that belong to this service: itself, its sandboxes, their nodes."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ToolResult:
    """What a tool gave; `source` names where it came from.

    A `str` is raw: protect it before anything else. What was cut comes protected: see
    `perlica.protection.pieces`.
    """

    text: str | Protected = field(repr=False)
    source: str
    failed: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Read:
    """A look at our own protected tables; it runs without the write lock and changes nothing.

    Row and outcome are written together behind it: of a read that a crash ended nothing is left,
    and its call is simply made again.
    """

    run: Callable[[], ToolResult]


@dataclass(frozen=True, slots=True, kw_only=True)
class Mandate:
    """By what a change is made: its operation, and the ticket spent on it if it is High."""

    operation: OperationId
    ticket: TicketId | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Change:
    """A change of our own tables, in the one transaction that writes its operation down.

    It raises what hinders it, and then nothing is changed; it never waits for anything outside.
    """

    run: Callable[[Mandate], ToolResult]


@dataclass(frozen=True, slots=True, kw_only=True)
class Queued:
    """Work for the executor of that name.

    `prepare` runs in the transaction that writes the operation's row and returns the executor's
    job; `present` turns the executor's outcome into a result. Within `within_s` seconds it is done,
    or it is stopped.
    """

    executor: str
    prepare: Callable[[OperationId], Any]
    present: Callable[[Any], ToolResult]
    within_s: float


@dataclass(frozen=True, slots=True, kw_only=True)
class Lease:
    """What a call outside may rely on: its operation's id, how it is told to stop, until when."""

    operation: OperationId
    cancel: CancelToken
    ends_at_s: float

    @property
    def left_s(self) -> float:
        """Seconds that are left; 0.0 when the time is over."""
        return max(0.0, self.ends_at_s - monotonic_s())


@dataclass(frozen=True, slots=True, kw_only=True)
class Remote:
    """One call to somewhere outside, between two commits and without any lock.

    `call` raises Refused or Retryable when nothing happened, Cancelled when it was stopped before
    it had an effect, OutcomeUnknown when it cannot tell. `is_repeatable` says that making it twice
    does no harm: interrupted, it has failed; any other is unknown then.
    """

    call: Callable[[Lease], ToolResult]
    within_s: float
    is_repeatable: bool = False


Work: TypeAlias = Read | Change | Queued | Remote


class Executor(Protocol):
    """Carries out queued work outside the caller's thread, and is asked for it after a crash.

    One instance works over one database connection.
    """

    @property
    def name(self) -> str:
        """What stands in `operations.executor`."""
        ...

    @property
    def longest_work_s(self) -> float:
        """How long one piece of work may take at most, in seconds."""
        ...

    def run(self, job: Any, cancel: CancelToken, *, within_s: float) -> Any:  # noqa: ANN401
        """Carry the job out and wait for its end; the operation's row tells it as well.

        Raises: Cancelled, Refused, Retryable (never started), OutcomeUnknown, Misconfigured.
        """
        ...

    def give_back(self, job: Any) -> None:  # noqa: ANN401
        """Take back a job that nobody began. Raises: StaleState when it was begun after all."""
        ...

    def look_up(
        self, operation: OperationId, cancel: CancelToken, *, within_s: float
    ) -> ToolResult | None:
        """How an operation ended that was in hand at a crash; None where nothing is known of it.

        It is waited for, never run again. Raises: as `run`.
        """
        ...

    def hand_over(self, operation: OperationId, *, stops: bool) -> bool:
        """Have a started operation settled without waiting, with `stops` ended if it still runs.

        Whether there is something to settle. Raises: Retryable when nobody takes it now.
        """
        ...

    def take_back(self, operation: OperationId) -> bool:
        """Take back a queued operation of an earlier process; whether it is this executor's.

        Raises: StaleState when it was begun after all.
        """
        ...

    def acknowledge(self, operation: OperationId) -> None:
        """Its result is stored; the output may be forgotten. Never raises."""
        ...


Executors: TypeAlias = Mapping[str, Executor]


def find_executor(executors: Executors, name: str) -> Executor:
    """The executor of that name. Raises: Refused when there is none in this service now."""
    found = executors.get(name)
    if found is None:
        raise Refused("no_executor", f"nothing carries out {name} work now; it is switched off")
    return found


def executor_name(work: Work) -> str:
    """What the operation's row says about who carries it out."""
    match work:
        case Read():
            return READ
        case Change():
            return CHANGE
        case Queued(executor=name):
            return name
        case Remote(is_repeatable=is_repeatable):
            return REMOTE_READ if is_repeatable else REMOTE


def leaves_process(work: Work, destination: str) -> bool:
    """Whether parameters leave for somewhere that is not this service's own.

    Raises: Refused for a plan whose destination does not go with its kind of work: whoever forgot
    to say where something goes gets no way round the seal.
    """
    is_inside = destination.partition(":")[0] in _INSIDE
    match work:
        case Read() | Change() if not is_inside:
            raise Refused("bad_destination", "this kind of work cannot have that destination")
        case Read() | Change():
            return False
        case Queued(executor=name) if destination:
            return not (is_inside and name == SANDBOX_EXECUTOR)
        case Remote() if destination and not is_inside:
            return True
        case _:
            raise Refused("bad_destination", "the plan does not say where its parameters go")
