"""A runtime from outside in the whole service: its session lives as long as its task."""

import json
import threading
import time

import pytest

from perlica.app import assembly
from perlica.demo.model import ScriptedModel
from perlica.demo.napcat import NapCatStandIn
from perlica.domain.cancel import CancelToken
from perlica.domain.errors import Cancelled
from perlica.domain.ids import new_call_id
from perlica.runtimes.contract import AgentTurn, RequestedCall
from tests.behaviour.conftest import MakeLive
from tests.behaviour.live import MEMBER, OWNER, PATIENCE_S, LivePerlica
from tests.session.runtimes import ANSWER, SECRET, Runtime


@pytest.fixture
def runtime(monkeypatch: pytest.MonkeyPatch) -> Runtime:
    made = Runtime()
    monkeypatch.setattr(assembly, "build_runtime", lambda _config, _secrets: made)
    return made


def closed(runtime: Runtime) -> bool:
    deadline = time.monotonic() + PATIENCE_S
    while runtime.closed != runtime.opened and time.monotonic() < deadline:
        time.sleep(0.02)
    return runtime.closed == runtime.opened


def test_an_answered_task_closes_its_session_and_the_next_opens_its_own(
    runtime: Runtime, make_live: MakeLive, model: ScriptedModel, napcat: NapCatStandIn
) -> None:
    make_live(model.base_url)

    for _ in range(2):
        asked = napcat.say(MEMBER, "你好", mention=True)
        napcat.wait_for_reply(lambda m: "好" in m.text, PATIENCE_S, after=asked)
        assert closed(runtime)

    assert len(set(runtime.opened)) == 2


def test_a_cancelled_task_closes_its_session(
    runtime: Runtime, make_live: MakeLive, model: ScriptedModel, napcat: NapCatStandIn
) -> None:
    begun = threading.Event()

    def think(cancel: CancelToken) -> AgentTurn:
        begun.set()
        cancel.wait(PATIENCE_S)
        raise Cancelled("cancelled", "stopped")

    runtime.think = think
    make_live(model.base_url)
    napcat.say(MEMBER, "你好", mention=True)
    assert begun.wait(PATIENCE_S)

    napcat.say(MEMBER, ".cancel")

    assert closed(runtime)
    assert len(runtime.opened) == 1


def test_a_broken_runtime_ends_the_task_with_a_told_reason_and_the_service_goes_on(
    runtime: Runtime, make_live: MakeLive, model: ScriptedModel, napcat: NapCatStandIn
) -> None:
    def think(_: CancelToken) -> AgentTurn:
        raise ValueError(SECRET)

    runtime.think = think
    live: LivePerlica = make_live(model.base_url)
    asked = napcat.say(OWNER, "你好", mention=True)
    told = napcat.wait_for_reply(lambda m: "内部" in m.text, PATIENCE_S, after=asked)
    runtime.think = lambda _: ANSWER

    again = napcat.say(MEMBER, "你好", mention=True)

    napcat.wait_for_reply(lambda m: "好" in m.text, PATIENCE_S, after=again)
    assert SECRET not in told.text
    assert closed(runtime)
    assert live.count("SELECT count(*) FROM tasks WHERE end_reason = 'internal_fault'") == 1


def test_a_task_that_waits_for_an_owner_keeps_its_session_until_it_is_cancelled(
    runtime: Runtime, make_live: MakeLive, model: ScriptedModel, napcat: NapCatStandIn
) -> None:
    live = make_live(model.base_url)
    turns = [call_of("create"), call_of("delete")]
    runtime.think = lambda _: turns.pop(0)
    asked = napcat.say(MEMBER, "删掉", mention=True)
    napcat.wait_for_reply(lambda m: "【审批请求" in m.text, PATIENCE_S, after=asked)
    assert (len(runtime.opened), runtime.closed) == (1, [])

    napcat.say(MEMBER, ".cancel")

    assert closed(runtime)
    assert live.count("SELECT count(*) FROM tasks WHERE state = 'cancelled'") == 1


def call_of(action: str) -> AgentTurn:
    arguments = json.dumps({"action": action, "name": "main"})
    call_id = new_call_id()
    call = RequestedCall(
        id=call_id, wire_id=call_id, tool="sandbox_manage", arguments_json=arguments
    )
    return AgentTurn(text="", calls=(call,))
