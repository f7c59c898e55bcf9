"""One call outside: in a thread of its own, with a deadline, stopped when its task is cancelled."""

import logging
import threading
from concurrent.futures import Future, InvalidStateError
from concurrent.futures import TimeoutError as FutureTimeoutError
from contextlib import suppress
from typing import Final

from perlica.domain.cancel import CancelToken, wait_for
from perlica.domain.clock import monotonic_s
from perlica.domain.errors import Cancelled, OutcomeUnknown, PerlicaError, Refused, Retryable
from perlica.domain.ids import OperationId
from perlica.gateway.core.work import Lease, Remote, ToolResult

_log = logging.getLogger(__name__)

AFTER_STOP_S: Final = 8.0
"""How long a call that was told to stop is waited for."""


def call_remote(work: Remote, operation: OperationId, cancel: CancelToken) -> ToolResult:
    """Make the call and wait for its end.

    Raises:
        Cancelled: the task was cancelled, and nothing happened; or the process leaves, and the
            next one settles the operation.
        Refused: it was not done, or failed; also when it took longer than allowed.
        Retryable, Misconfigured: as the call says.
        OutcomeUnknown: it may have happened.
    """
    lease = Lease(
        operation=operation, cancel=CancelToken(), ends_at_s=monotonic_s() + work.within_s
    )
    reply: Future[ToolResult] = Future()
    thread = threading.Thread(
        target=_answer, args=(work, lease, reply), name="perlica-remote", daemon=True
    )
    try:
        thread.start()
    except RuntimeError:
        raise Retryable("no_thread", "the call could not begin; nothing happened") from None
    wait_for(reply, cancel, work.within_s)
    was_stopped = not reply.done()
    if was_stopped:
        if cancel.is_leaving:
            lease.cancel.leave()
            raise Cancelled("left", "the service stops; the call is settled later")
        lease.cancel.set()
    try:
        return reply.result(timeout=AFTER_STOP_S)
    except PerlicaError as error:
        raise _understood(cancel, error, was_stopped=was_stopped) from error
    except BaseException as error:  # noqa: BLE001 - none of its words may be passed on
        is_silent = isinstance(error, FutureTimeoutError) and not reply.done()
        kind = type(error).__name__
    if is_silent:
        raise _silent(work, cancel)
    raise _translated(work, cancel, kind, was_stopped=was_stopped)


def _answer(work: Remote, lease: Lease, reply: "Future[ToolResult]") -> None:
    with suppress(InvalidStateError):
        try:
            result = work.call(lease)
        except BaseException as error:  # noqa: BLE001 - whoever waits is told
            reply.set_exception(error)
        else:
            reply.set_result(result)


def _silent(work: Remote, cancel: CancelToken) -> PerlicaError:
    """What it means that a call which was told to stop does not come back."""
    if not work.is_repeatable:
        return OutcomeUnknown("call_silent", "the call did not end in time")
    return _stopped(cancel)


def _stopped(cancel: CancelToken) -> PerlicaError:
    if cancel.is_set:
        return Cancelled("cancelled", "the task was cancelled")
    return Refused("too_slow", "stopped: it took longer than allowed")


def _understood(cancel: CancelToken, error: PerlicaError, *, was_stopped: bool) -> PerlicaError:
    """One of our own errors: what it says, but for a stop that was ours or its own."""
    if not isinstance(error, Cancelled):
        return error
    if was_stopped:
        return _stopped(cancel)
    return Refused("gave_up", "the call gave up by itself; nothing was done")


def _translated(work: Remote, cancel: CancelToken, kind: str, *, was_stopped: bool) -> PerlicaError:
    """What a foreign error means to whoever waits; `kind` is the name of its class."""
    if was_stopped and work.is_repeatable:
        return _stopped(cancel)
    if was_stopped:
        return OutcomeUnknown("call_stopped", "the call was stopped, and may have happened")
    # The type alone: the text of a foreign error may hold what it was given.
    _log.error("a call outside failed", extra={"code": kind})
    if work.is_repeatable:
        return Refused("remote_fault", "the call failed for an internal reason")
    return OutcomeUnknown("remote_fault", "the call failed, and may have happened")
