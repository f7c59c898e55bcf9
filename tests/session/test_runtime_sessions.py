"""A runtime from outside in the whole service: opened once for a task, closed once at its end."""

from collections.abc import Callable

from actors.base import Alarm
from perlica.demo.napcat import Message, NapCatStandIn
from perlica.domain.task import EndReason
from tests.behaviour.asking import APPROVE
from tests.behaviour.live import OWNER, PATIENCE_S, LivePerlica, wait_until
from tests.session.outside_runtime import (
    CREATE,
    DELETE,
    LOOK,
    OutsideRuntime,
    ask,
    assert_ended,
    assert_goes_on,
    final,
    say,
    wait_for_cancel,
)

MakeService = Callable[..., LivePerlica]


def test_a_task_of_several_turns_has_one_session_and_the_next_task_another(
    make_service: MakeService, napcat: NapCatStandIn, runtime: OutsideRuntime
) -> None:
    service = make_service()
    runtime.add(say("", LOOK), say("", LOOK), say("好了"))

    told = final(napcat, ask(napcat))

    assert "好了" in told
    assert_ended(service, runtime, EndReason.answered)
    assert [task for task, _ in runtime.turns] == runtime.opened * 3
    lengths = [len(conversation) for _, conversation in runtime.turns]
    assert lengths == [2, 4, 6]
    assert_goes_on(napcat, runtime)


def test_a_budget_that_ends_the_task_closes_its_session(
    make_service: MakeService, napcat: NapCatStandIn, runtime: OutsideRuntime
) -> None:
    service = make_service("max_model_calls = 1")
    runtime.add(say("", LOOK))

    final(napcat, ask(napcat))

    assert_ended(service, runtime, EndReason.model_calls)
    assert_goes_on(napcat, runtime)


def test_a_task_that_runs_out_of_time_in_a_turn_closes_its_session(
    make_service: MakeService, napcat: NapCatStandIn, runtime: OutsideRuntime
) -> None:
    service = make_service("wall_time_s = 1")
    runtime.add(wait_for_cancel)

    final(napcat, ask(napcat))

    assert_ended(service, runtime, EndReason.wall_time)
    assert_goes_on(napcat, runtime)


def test_a_cancel_in_a_turn_closes_the_session(
    make_service: MakeService, napcat: NapCatStandIn, runtime: OutsideRuntime
) -> None:
    service = make_service()
    runtime.add(wait_for_cancel)
    asked = ask(napcat)
    assert runtime.thinks.wait(PATIENCE_S)

    napcat.say(OWNER, ".cancel")

    napcat.wait_for_reply(lambda m: "已取消" in m.text, PATIENCE_S, after=asked)
    assert_ended(service, runtime, EndReason.cancelled_by_member)
    assert_goes_on(napcat, runtime)


def test_a_request_that_is_recalled_in_a_turn_closes_the_session(
    make_service: MakeService, napcat: NapCatStandIn, runtime: OutsideRuntime
) -> None:
    service = make_service()
    runtime.add(wait_for_cancel)
    asked = ask(napcat)
    assert runtime.thinks.wait(PATIENCE_S)

    napcat.recall(asked)

    wait_until(lambda: bool(runtime.closed))
    assert_ended(service, runtime, EndReason.recalled)
    assert_goes_on(napcat, runtime)


def wait_for_question(napcat: NapCatStandIn, runtime: OutsideRuntime) -> tuple[Message, str]:
    """Let the task wait for an Owner; its request, and the ticket."""
    runtime.add(say("", CREATE, DELETE))
    asked = ask(napcat)
    question = napcat.wait_for_reply(lambda m: bool(APPROVE.search(m.text)), after=asked)
    found = APPROVE.search(question.text)
    assert found is not None
    assert runtime.closed == []
    return asked, found.group(1)


def test_a_cancel_while_the_task_waits_for_an_owner_closes_the_session(
    make_service: MakeService, napcat: NapCatStandIn, runtime: OutsideRuntime
) -> None:
    service = make_service()
    asked, _ = wait_for_question(napcat, runtime)

    napcat.say(OWNER, ".cancel")

    napcat.wait_for_reply(lambda m: "已取消" in m.text, after=asked)
    assert_ended(service, runtime, EndReason.cancelled_by_member)
    assert_goes_on(napcat, runtime)


def test_a_request_that_is_recalled_while_the_task_waits_closes_the_session(
    make_service: MakeService, napcat: NapCatStandIn, runtime: OutsideRuntime
) -> None:
    service = make_service()
    asked, _ = wait_for_question(napcat, runtime)

    napcat.recall(asked)

    assert_ended(service, runtime, EndReason.recalled)
    assert_goes_on(napcat, runtime)


def test_the_session_outlives_the_waiting_for_an_owner(
    make_service: MakeService, napcat: NapCatStandIn, runtime: OutsideRuntime
) -> None:
    service = make_service()
    asked, ticket = wait_for_question(napcat, runtime)
    runtime.add(say("没有删"))

    napcat.say(OWNER, f".deny {ticket}")

    napcat.wait_for_reply(lambda m: "没有删" in m.text, after=asked)
    assert_ended(service, runtime, EndReason.approval_denied)
    assert [task for task, _ in runtime.turns] == runtime.opened * 2


def test_a_stop_closes_the_session_and_the_next_process_opens_one_with_the_whole_conversation(
    make_service: MakeService, napcat: NapCatStandIn, runtime: OutsideRuntime
) -> None:
    service = make_service()
    runtime.add(say("", LOOK), wait_for_cancel)
    asked = ask(napcat)
    wait_until(lambda: len(runtime.turns) == 2)

    assert service.stop()

    (task,) = runtime.opened
    assert runtime.closed == [task]
    runtime.closed.clear()
    met = napcat.connection_count
    runtime.add(say("好了"))
    service.start()
    wait_until(lambda: napcat.connection_count > met)
    assert "好了" in final(napcat, asked)
    assert runtime.opened == [task, task]
    assert runtime.turns[-1][1] == runtime.turns[-2][1]
    wait_until(lambda: runtime.closed == [task])


def test_a_service_that_dies_closes_what_it_opened_and_a_task_that_kills_it_is_given_up(
    make_service: MakeService, napcat: NapCatStandIn, runtime: OutsideRuntime
) -> None:
    service = make_service()

    def die(_actor: str, message: object | None) -> None:
        if type(message).__name__ == "StepFinished":
            raise RuntimeError("a test's fault")

    service.stop()
    asked = None
    for started in (1, 2, 3):
        service.alarm = Alarm(before=die)
        runtime.add(say("", LOOK))
        met = napcat.connection_count
        service.start()
        wait_until(lambda met=met: napcat.connection_count > met)  # type: ignore[misc]
        asked = asked or ask(napcat)
        wait_until(service.alarm.rung.is_set, what=f"start {started} did not die")
        service.stop()
        assert len(runtime.opened) == started
        assert runtime.closed == runtime.opened
    service.alarm = Alarm()

    service.start()

    assert asked is not None
    final(napcat, asked)
    assert service.count("SELECT count(*) FROM tasks WHERE end_reason = 'crashed_repeatedly'") == 1
    assert len(runtime.opened) == 3
    assert_goes_on(napcat, runtime)
