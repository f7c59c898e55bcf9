"""The book-keeping of sessions by itself: what is opened is closed once, in bounded time."""

import threading
import time
from dataclasses import dataclass, field

import pytest

from perlica.conversation import AssistantMessage, SentCall
from perlica.domain.cancel import CancelToken
from perlica.domain.errors import Cancelled, Refused, Retryable
from perlica.domain.ids import TaskId
from perlica.domain.task import EndReason
from perlica.runtimes.contract import AgentTurn
from perlica.runtimes.sessions import RuntimeSessions
from tests.session.outside_runtime import OutsideRuntime, say
from tests.session.words import RUN, TOOLS, call, sealed

ONE, TWO = TaskId("T-1"), TaskId("T-2")


@dataclass
class Bench:
    """Sessions over a runtime that plays a script."""

    runtime: OutsideRuntime = field(default_factory=OutsideRuntime)
    cancel: CancelToken = field(default_factory=CancelToken)
    close_within_s: float = 5.0

    def __post_init__(self) -> None:
        self.sessions = RuntimeSessions(self.runtime, close_within_s=self.close_within_s)

    def turn(self, task: TaskId = ONE) -> AgentTurn:
        return self.sessions.turn(task, (), TOOLS, self.cancel)


def test_an_end_that_was_never_told_is_made_up_for_when_the_next_task_begins() -> None:
    bench = Bench()
    bench.runtime.add(say("eins"), say("zwei"))

    bench.turn(ONE)
    bench.turn(TWO)

    assert bench.runtime.opened == [ONE, TWO]
    assert bench.runtime.closed == [ONE]


def test_an_end_that_is_told_twice_closes_once_and_that_of_an_unknown_task_nothing() -> None:
    bench = Bench()
    bench.runtime.add(say("eins"))
    bench.turn(ONE)

    for task in (TWO, ONE, ONE):
        bench.sessions.end(task)
    bench.sessions.close()

    assert bench.runtime.closed == [ONE]


def test_a_failure_within_the_contract_leaves_the_session_to_the_end_of_its_task() -> None:
    bench = Bench()
    bench.runtime.add(Retryable("model_unreachable", ""), say("doch"))

    with pytest.raises(Retryable):
        bench.turn()
    turn = bench.turn()

    assert turn.end is EndReason.answered
    assert (bench.runtime.opened, bench.runtime.closed) == ([ONE], [])


def test_a_fault_closes_the_session_at_once_and_the_next_turn_opens_another() -> None:
    bench = Bench()
    bench.runtime.add(ValueError("x"), say("doch"))

    with pytest.raises(Refused, match="runtime_fault"):
        bench.turn()
    closed = list(bench.runtime.closed)
    bench.turn()

    assert closed == [ONE]
    assert bench.runtime.opened == [ONE, ONE]


def test_cancelled_is_believed_only_where_somebody_cancelled() -> None:
    bench = Bench()
    bench.runtime.add(Cancelled("cancelled", ""), Cancelled("cancelled", ""))

    with pytest.raises(Refused, match="runtime_fault"):
        bench.turn()
    bench.cancel.set()
    with pytest.raises(Cancelled):
        bench.turn()


def test_an_id_that_an_earlier_turn_used_is_not_used_again() -> None:
    bench = Bench()
    sent = SentCall(wire_id="call_1", name=RUN.name, arguments=sealed("{}"))
    earlier = (AssistantMessage(text=sealed(""), calls=(sent,)),)
    bench.runtime.add(say("", call(wire_id="call_1"), call(wire_id="call_2")))

    turn = bench.sessions.turn(ONE, earlier, TOOLS, bench.cancel)

    again, new = turn.calls
    assert again.wire_id == again.id
    assert new.wire_id == "call_2"


def test_what_went_wrong_inside_is_not_chained_to_what_is_told() -> None:
    bench = Bench()
    bench.runtime.add(ValueError("what was said"))

    with pytest.raises(Refused) as caught:
        bench.turn()

    assert caught.value.__cause__ is None
    assert caught.value.__suppress_context__


def test_a_session_that_hangs_is_waited_for_as_long_as_was_said() -> None:
    bench = Bench(close_within_s=0.5)
    released = threading.Event()
    bench.runtime.add(say("eins"))
    bench.turn(ONE)

    def hang() -> None:
        released.wait(30.0)

    bench.runtime.closing = hang
    try:
        began_s = time.monotonic()
        bench.sessions.close()
        took_s = time.monotonic() - began_s
    finally:
        released.set()

    assert 0.4 < took_s < 10.0
    assert bench.runtime.closed == [ONE]
