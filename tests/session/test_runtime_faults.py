"""A runtime that fails in any way: its task ends with the reason, the service goes on."""

import threading
import time
from collections.abc import Callable

import pytest

from perlica.demo.napcat import NapCatStandIn
from perlica.domain.cancel import CancelToken
from perlica.domain.errors import (
    Cancelled,
    Misconfigured,
    OutcomeUnknown,
    Refused,
    Retryable,
    StaleState,
)
from perlica.domain.task import EndReason
from perlica.runtimes.contract import RawCall, RawTurn
from tests.behaviour.live import OWNER, PATIENCE_S, LivePerlica, wait_until
from tests.session.outside_runtime import (
    CREATE,
    LOOK,
    OutsideRuntime,
    ask,
    assert_ended,
    assert_goes_on,
    final,
    say,
    wait_for_cancel,
)
from tests.session.words import CREDENTIAL

MakeService = Callable[..., LivePerlica]
UNHEARD = "what a foreign library says of the conversation"
FAILURES = [
    (Retryable("model_unreachable", ""), EndReason.model_unreachable),
    (Retryable("agent_gone", ""), EndReason.model_failed),
    (Refused("model_content_refused", ""), EndReason.model_filtered),
    (Refused("agent_unwilling", ""), EndReason.model_refused),
    (Misconfigured("model_key_rejected", ""), EndReason.model_key),
]
FAULTS = [
    ValueError(UNHEARD),
    KeyError(UNHEARD),
    SystemExit(UNHEARD),
    OutcomeUnknown("lost", UNHEARD),
    StaleState("moved", UNHEARD),
    Cancelled("cancelled", UNHEARD),
]


@pytest.mark.parametrize(("error", "reason"), FAILURES, ids=lambda part: str(part).strip(": "))
def test_a_turn_that_fails_as_the_contract_says_ends_the_task_with_that_reason(
    make_service: MakeService,
    napcat: NapCatStandIn,
    runtime: OutsideRuntime,
    error: Exception,
    reason: EndReason,
) -> None:
    service = make_service()
    runtime.add(error)

    final(napcat, ask(napcat))

    assert_ended(service, runtime, reason)
    assert_goes_on(napcat, runtime)


@pytest.mark.parametrize(
    ("error", "reason"),
    [*FAILURES, *((fault, EndReason.internal_fault) for fault in FAULTS)],
    ids=lambda part: type(part).__name__,
)
def test_a_session_that_cannot_be_opened_ends_the_task_as_a_failed_turn_would(
    make_service: MakeService,
    napcat: NapCatStandIn,
    runtime: OutsideRuntime,
    error: BaseException,
    reason: EndReason,
) -> None:
    service = make_service()
    runtime.openings.append(error)

    told = final(napcat, ask(napcat))

    assert UNHEARD not in told
    assert service.count(f"SELECT count(*) FROM tasks WHERE end_reason = '{reason.value}'") == 1
    assert len(runtime.opened) == 1
    assert (runtime.turns, runtime.closed) == ([], [])
    assert_goes_on(napcat, runtime)
    assert not service.alarm.faults


def test_a_cancel_while_the_session_is_opened_cancels_the_task(
    make_service: MakeService,
    napcat: NapCatStandIn,
    runtime: OutsideRuntime,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    service = make_service()
    asks = threading.Event()
    whole = OutsideRuntime.open

    def open_slowly(self: OutsideRuntime, task: object, cancel: CancelToken) -> object:
        asks.set()
        return wait_for_cancel(cancel)

    monkeypatch.setattr(OutsideRuntime, "open", open_slowly)
    asked = ask(napcat)
    assert asks.wait(PATIENCE_S)

    napcat.say(OWNER, ".cancel")

    napcat.wait_for_reply(lambda m: "已取消" in m.text, PATIENCE_S, after=asked)
    monkeypatch.setattr(OutsideRuntime, "open", whole)
    assert_goes_on(napcat, runtime)
    assert not service.alarm.faults


@pytest.mark.parametrize("fault", FAULTS, ids=lambda fault: type(fault).__name__)
def test_a_fault_in_a_turn_ends_its_task_and_neither_the_service_nor_a_secret(
    make_service: MakeService,
    napcat: NapCatStandIn,
    runtime: OutsideRuntime,
    caplog: pytest.LogCaptureFixture,
    fault: BaseException,
) -> None:
    service = make_service()
    runtime.add(say("", LOOK), fault)

    told = final(napcat, ask(napcat))

    assert "内部" in told
    assert UNHEARD not in told
    assert_ended(service, runtime, EndReason.internal_fault)
    assert_goes_on(napcat, runtime)
    (line,) = [record for record in caplog.records if record.message == "runtime failed"]
    assert line.__dict__["fault"] == type(fault).__name__
    assert UNHEARD not in caplog.text


@pytest.mark.parametrize("turn", [None, {"text": "好了"}, "好了"], ids=["none", "dict", "text"])
def test_what_is_no_turn_at_all_is_a_fault_of_the_runtime(
    make_service: MakeService, napcat: NapCatStandIn, runtime: OutsideRuntime, turn: RawTurn
) -> None:
    service = make_service()
    runtime.add(lambda _cancel: turn)

    final(napcat, ask(napcat))

    assert_ended(service, runtime, EndReason.internal_fault)
    assert_goes_on(napcat, runtime)


def test_the_checks_apply_to_whichever_runtime_thinks(
    make_service: MakeService, napcat: NapCatStandIn, runtime: OutsideRuntime
) -> None:
    service = make_service()
    foreign = RawCall(wire_id="", tool="bash", arguments_json='{"command": "id"}')
    half = RawCall(wire_id="", tool=CREATE.tool, arguments_json=CREATE.arguments_json[:-1])
    runtime.add(say("", foreign, half), say('<tool_call>{"name": "bash"}'), say("好了"))

    told = final(napcat, ask(napcat))

    assert "好了" in told
    assert service.count("SELECT count(*) FROM operations") == 0
    assert service.count("SELECT count(*) FROM tool_calls WHERE tool = 'unknown_tool'") == 1
    seen = [
        message.content.content for message in runtime.turns[-1][1] if hasattr(message, "content")
    ]
    assert any("没有这个工具" in text for text in seen)
    assert any("不是一个完整的 JSON 对象" in text for text in seen)
    assert any("你把工具调用写成了文字" in text for text in seen)


@pytest.mark.parametrize(
    "opaque",
    [
        f'{{"note": "{CREDENTIAL}"}}'.encode(),
        b"\x00\xff",
        b"not json",
        f'{{"a": "{CREDENTIAL}", "a": ""}}'.encode(),
        b"[" * 5_000 + b"]" * 5_000,
    ],
    ids=["a credential", "no text", "no JSON", "a key twice", "nested"],
)
def test_what_a_runtime_wants_back_is_kept_only_if_a_scan_saw_all_of_it(
    make_service: MakeService, napcat: NapCatStandIn, runtime: OutsideRuntime, opaque: bytes
) -> None:
    service = make_service()
    runtime.add(say("好了", opaque=opaque))

    final(napcat, ask(napcat))

    assert_ended(service, runtime, EndReason.protection_altered)
    assert service.count("SELECT count(*) FROM session_events WHERE opaque IS NOT NULL") == 0
    assert_goes_on(napcat, runtime)


def test_a_close_that_hangs_does_not_hold_up_the_next_task(
    make_service: MakeService,
    napcat: NapCatStandIn,
    runtime: OutsideRuntime,
    caplog: pytest.LogCaptureFixture,
) -> None:
    make_service()
    released = threading.Event()

    def hang() -> None:
        released.wait(60.0)

    runtime.closing = hang
    try:
        runtime.add(say("好了"), say("die nächste"))
        final(napcat, ask(napcat))
        wait_until(lambda: bool(runtime.closed))

        began_s = time.monotonic()
        told = final(napcat, ask(napcat, "weiter"))
        took_s = time.monotonic() - began_s
    finally:
        released.set()

    assert "die nächste" in told
    assert took_s < 12.0
    assert "runtime does not close its session" in caplog.text


@pytest.mark.parametrize("error", [ValueError(UNHEARD), SystemExit(UNHEARD)])
def test_a_close_that_fails_is_logged_without_a_word_of_it(
    make_service: MakeService,
    napcat: NapCatStandIn,
    runtime: OutsideRuntime,
    caplog: pytest.LogCaptureFixture,
    error: BaseException,
) -> None:
    service = make_service()

    def fail() -> None:
        raise error

    runtime.closing = fail
    runtime.add(say("好了"))

    final(napcat, ask(napcat))

    assert_ended(service, runtime, EndReason.answered)
    assert_goes_on(napcat, runtime)
    assert "runtime session not closed" in caplog.text
    assert UNHEARD not in caplog.text
