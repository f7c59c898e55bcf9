"""A runtime from outside: opened once for a task, closed with its end, whichever that is."""

import threading
import time
from typing import NoReturn

import pytest

from perlica.app import runtimes
from perlica.domain.cancel import CancelToken
from perlica.domain.errors import Cancelled, Misconfigured, PerlicaError, Refused, Retryable
from perlica.domain.ids import TaskId, new_task_id
from perlica.domain.task import EndReason
from perlica.runtimes.contract import AgentTurn, RuntimeName, find_end_reason
from perlica.runtimes.sessions import RuntimeSessions
from tests.session.runtimes import ANSWER, SECRET, Runtime


def turn_of(sessions: RuntimeSessions, task: TaskId) -> AgentTurn:
    return sessions.turn(task, (), (), CancelToken())


def test_a_session_serves_its_task_and_is_closed_for_the_next() -> None:
    runtime, first, second = Runtime(), new_task_id(), new_task_id()
    sessions = RuntimeSessions(runtime)

    for task in (first, first, second):
        assert turn_of(sessions, task) is ANSWER
    sessions.close(first)
    sessions.close(second)
    sessions.close(second)
    sessions.close_all()

    assert runtime.opened == [first, second]
    assert runtime.closed == [first, second]


@pytest.mark.parametrize(
    "error",
    [Retryable("a", "x"), Misconfigured("b", "x"), Refused("c", "x"), Cancelled("d", "x")],
    ids=lambda error: type(error).__name__,
)
def test_a_session_that_cannot_be_opened_fails_like_a_turn_and_is_tried_anew(
    error: PerlicaError,
) -> None:
    faults = [error]

    def begin(_: CancelToken) -> None:
        if faults:
            raise faults.pop()

    runtime, task = Runtime(begin=begin), new_task_id()
    sessions = RuntimeSessions(runtime)

    with pytest.raises(type(error)):
        turn_of(sessions, task)

    assert turn_of(sessions, task) is ANSWER
    assert (runtime.opened, runtime.closed) == ([task], [])


@pytest.mark.parametrize("place", ["open", "turn"])
def test_what_a_runtime_raises_against_its_contract_costs_the_task_alone(
    place: str, caplog: pytest.LogCaptureFixture
) -> None:
    def fail(_: CancelToken) -> NoReturn:
        raise ValueError(SECRET)

    runtime = Runtime(begin=fail) if place == "open" else Runtime(think=fail)
    task = new_task_id()

    with pytest.raises(Refused) as refused:
        turn_of(RuntimeSessions(runtime), task)

    assert find_end_reason(refused.value) is EndReason.internal_fault
    assert runtime.closed == runtime.opened
    assert "ValueError" in str([record.__dict__.get("code") for record in caplog.records])
    assert SECRET not in caplog.text
    assert SECRET not in str(refused.value)


def test_a_close_that_hangs_or_fails_holds_up_nobody() -> None:
    hanging = threading.Event()
    runtime = Runtime(let_go=lambda: _wait(hanging))
    sessions = RuntimeSessions(runtime, close_within_s=0.05)
    first, second = new_task_id(), new_task_id()
    turn_of(sessions, first)
    began = time.monotonic()

    turn_of(sessions, second)

    assert time.monotonic() - began < 10
    assert runtime.opened == [first, second]
    hanging.set()

    def fail() -> None:
        raise OSError(SECRET)

    runtime.let_go = fail
    sessions.close_all()
    assert runtime.closed == [first, second]


def _wait(event: threading.Event) -> None:
    event.wait(60)


def test_every_runtime_that_a_configuration_may_name_is_built() -> None:
    assert set(runtimes.BUILDERS) == set(RuntimeName)
