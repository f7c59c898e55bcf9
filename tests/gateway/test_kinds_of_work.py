"""What each kind of work holds while it runs, and what its row says at each moment."""

import logging
import threading
import traceback
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from perlica.domain.cancel import CancelToken
from perlica.domain.errors import Cancelled, OutcomeUnknown, PerlicaError, Refused, Retryable
from perlica.domain.operation import CHANGE, READ, REMOTE, REMOTE_READ, OperationState
from perlica.gateway.core import remote
from perlica.gateway.core.execution import NotBegun, PlanRunner
from perlica.gateway.core.outcomes import Answered
from perlica.gateway.core.work import Change, Lease, Mandate, Read, Remote, ToolResult
from perlica.stores.database import Database
from perlica.stores.service import ServiceStore
from tests.gateway.plans import (
    CANARY,
    DONE,
    call_of_a_task,
    command,
    execution_of,
    only_operation,
    reason_of,
    states,
)

OUTSIDE = "web:example.org"


def runner_over(db: Database) -> PlanRunner:
    return PlanRunner(database=db, executors={})


def call_outside(
    db: Database,
    call: Callable[[Lease], ToolResult],
    *,
    is_repeatable: bool,
    within_s: float = 30.0,
    cancel: CancelToken | None = None,
) -> ToolResult:
    work = Remote(call=call, within_s=within_s, is_repeatable=is_repeatable)
    execution = execution_of(command(), work, destination=OUTSIDE)
    return runner_over(db).perform(execution, cancel or CancelToken())


# --- read and change --------------------------------------------------------------------------


def test_a_read_neither_waits_for_the_write_lock_nor_holds_it(
    db: Database, other: Database
) -> None:
    def look() -> ToolResult:
        with other.transaction():
            ServiceStore(other).set("written", "meanwhile")
        return DONE

    result = runner_over(db).perform(execution_of(command(), Read(run=look)), CancelToken())

    assert result is DONE
    assert ServiceStore(db).find("written") == "meanwhile"
    operation = only_operation(db)
    assert (operation.state, operation.executor) == (OperationState.succeeded, READ)


def test_a_read_that_fails_leaves_no_row_and_a_failed_one_says_so(db: Database) -> None:
    def refuse() -> ToolResult:
        raise Refused("no_such_thing", "it is not there")

    with pytest.raises(NotBegun, match="no_such_thing"):
        runner_over(db).perform(execution_of(command(), Read(run=refuse)), CancelToken())
    assert states(db) == []

    bad = ToolResult(text="no", source="test", failed=True)
    runner_over(db).perform(execution_of(command(), Read(run=lambda: bad)), CancelToken())
    assert states(db) == [OperationState.failed]


def test_a_change_is_given_its_operation_and_holds_everything_in_one_transaction(
    db: Database, other: Database
) -> None:
    seen: list[Mandate] = []

    def change(mandate: Mandate) -> ToolResult:
        seen.append(mandate)
        ServiceStore(db).set("changed", "yes")
        assert other.query("SELECT id FROM operations") == []
        return DONE

    execution = execution_of(command(), Change(run=change))
    runner_over(db).perform(execution, CancelToken())

    assert seen == [Mandate(operation=execution.operation)]
    operation = only_operation(other)
    assert (operation.id, operation.executor) == (execution.operation, CHANGE)
    assert operation.state is OperationState.succeeded


@pytest.mark.parametrize("way", ["raises", "says so"])
def test_a_change_that_fails_changes_nothing_and_leaves_no_row(db: Database, way: str) -> None:
    def change(_: Mandate) -> ToolResult:
        ServiceStore(db).set("changed", "yes")
        if way == "raises":
            raise Refused("not_now", "it cannot be done now")
        return ToolResult(text="no", source="test", failed=True)

    with pytest.raises(NotBegun):
        runner_over(db).perform(execution_of(command(), Change(run=change)), CancelToken())

    assert ServiceStore(db).find("changed") is None
    assert states(db) == []


# --- calls outside ----------------------------------------------------------------------------


@pytest.mark.parametrize(("is_repeatable", "name"), [(True, REMOTE_READ), (False, REMOTE)])
def test_a_call_outside_begins_behind_its_row_and_holds_no_lock(
    db: Database, other: Database, path: Path, is_repeatable: bool, name: str
) -> None:
    seen: list[tuple[OperationState, str]] = []

    def call(lease: Lease) -> ToolResult:
        with Database.open(path) as mine:
            operation = only_operation(mine)
            seen.append((operation.state, operation.executor))
            assert operation.id == lease.operation
            with mine.transaction():
                ServiceStore(mine).set("written", "meanwhile")
        assert 0 < lease.left_s <= 30
        return DONE

    assert call_outside(db, call, is_repeatable=is_repeatable) is DONE

    assert seen == [(OperationState.started, name)]
    assert ServiceStore(other).find("written") == "meanwhile"
    assert only_operation(other).state is OperationState.succeeded


def stopped(lease: Lease) -> ToolResult:
    lease.cancel.wait(30)
    raise Cancelled("stopped", "it was stopped in time")


def broken(lease: Lease) -> ToolResult:
    lease.cancel.wait(30)
    raise ConnectionResetError(CANARY)


_RELEASED = threading.Event()


def deaf(_: Lease) -> ToolResult:
    _RELEASED.wait(30)
    return DONE


@pytest.fixture(autouse=True)
def _no_call_left() -> Iterator[None]:
    """Calls that hear nothing end with their test: no other one finds their threads."""
    _RELEASED.clear()
    yield
    _RELEASED.set()
    for thread in threading.enumerate():
        if thread.name == "perlica-remote":
            thread.join(10)
            assert not thread.is_alive()


@pytest.mark.parametrize("is_repeatable", [True, False])
def test_a_cancel_reaches_the_call_and_the_row_says_cancelled(
    db: Database, is_repeatable: bool
) -> None:
    cancel = CancelToken()
    threading.Timer(0.1, cancel.set).start()

    with pytest.raises(Cancelled):
        call_outside(db, stopped, is_repeatable=is_repeatable, cancel=cancel)

    assert only_operation(db).state is OperationState.cancelled


@pytest.mark.parametrize(
    ("call", "is_repeatable", "state", "reason"),
    [
        (stopped, True, OperationState.failed, "too_slow"),
        (stopped, False, OperationState.failed, "too_slow"),
        (broken, True, OperationState.failed, "too_slow"),
        (broken, False, OperationState.unknown, "call_stopped"),
        (deaf, True, OperationState.failed, "too_slow"),
        (deaf, False, OperationState.unknown, "call_silent"),
    ],
)
def test_a_call_that_takes_too_long_has_failed_or_is_unknown(
    db: Database,
    monkeypatch: pytest.MonkeyPatch,
    call: Callable[[Lease], ToolResult],
    is_repeatable: bool,
    state: OperationState,
    reason: str,
) -> None:
    monkeypatch.setattr(remote, "AFTER_STOP_S", 0.2)

    with pytest.raises(PerlicaError) as raised:
        call_outside(db, call, is_repeatable=is_repeatable, within_s=0.1)

    assert raised.value.code == reason
    assert (only_operation(db).state, reason_of(only_operation(db))) == (state, reason)


def raising(error: BaseException) -> Callable[[Lease], ToolResult]:
    def call(_: Lease) -> ToolResult:
        raise error

    return call


@pytest.mark.parametrize(
    ("error", "is_repeatable", "state", "reason"),
    [
        (Refused("no_page", "not found"), False, OperationState.failed, "no_page"),
        (Retryable("busy", "later"), False, OperationState.failed, "busy"),
        (OutcomeUnknown("lost", "who knows"), False, OperationState.unknown, "lost"),
        (OutcomeUnknown("lost", "who knows"), True, OperationState.unknown, "lost"),
        (Cancelled("own", "by itself"), False, OperationState.failed, "gave_up"),
        (TimeoutError(CANARY), True, OperationState.failed, "remote_fault"),
        (TimeoutError(CANARY), False, OperationState.unknown, "remote_fault"),
        (ValueError(CANARY), True, OperationState.failed, "remote_fault"),
        (ValueError(CANARY), False, OperationState.unknown, "remote_fault"),
        (SystemExit(CANARY), True, OperationState.failed, "remote_fault"),
        (KeyboardInterrupt(CANARY), False, OperationState.unknown, "remote_fault"),
    ],
    ids=str,
)
def test_what_a_call_raises_is_what_its_row_says_and_foreign_words_go_nowhere(
    db: Database,
    path: Path,
    caplog: pytest.LogCaptureFixture,
    error: BaseException,
    is_repeatable: bool,
    state: OperationState,
    reason: str,
) -> None:
    with caplog.at_level(logging.DEBUG), pytest.raises(PerlicaError) as raised:
        call_outside(db, raising(error), is_repeatable=is_repeatable)

    assert (only_operation(db).state, reason_of(only_operation(db))) == (state, reason)
    assert CANARY not in caplog.text
    assert CANARY not in "".join(traceback.format_exception(raised.value))
    assert all(CANARY.encode() not in file.read_bytes() for file in path.parent.iterdir())


def test_a_call_for_which_there_is_no_thread_has_not_happened(
    db: Database, monkeypatch: pytest.MonkeyPatch
) -> None:
    def start(_: threading.Thread) -> None:
        raise RuntimeError("can't start new thread")

    monkeypatch.setattr(threading.Thread, "start", start)

    with pytest.raises(Retryable, match="no_thread"):
        call_outside(db, lambda _: DONE, is_repeatable=False)

    assert only_operation(db).state is OperationState.failed


def test_a_process_that_leaves_leaves_the_row_for_the_next_one(db: Database) -> None:
    cancel = CancelToken()
    threading.Timer(0.1, cancel.leave).start()

    with pytest.raises(Cancelled):
        call_outside(db, stopped, is_repeatable=False, cancel=cancel)

    assert only_operation(db).state is OperationState.started


def test_an_unknown_outcome_is_told_to_the_model_and_not_repeated(db: Database) -> None:
    work = Remote(call=raising(OutcomeUnknown("lost", "who knows")), within_s=5)
    execution = execution_of(call_of_a_task(db), work, destination=OUTSIDE)

    ended = runner_over(db).execute(execution, CancelToken())

    assert isinstance(ended, Answered)
    assert ended.failed
    assert "the outcome is unknown" in ended.content.content
