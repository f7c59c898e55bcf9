"""The scripted model answers and fails as written, records everything, and notices who leaves."""

import threading
from collections.abc import Iterator

import pytest
import requests

from perlica.demo.model import (
    Call,
    CutOff,
    Drip,
    Garbage,
    HeadersThenSilent,
    Held,
    HttpError,
    NothingHappened,
    Outcome,
    Reply,
    ScriptedModel,
    Silent,
    Unfinished,
)
from perlica.demo.model.turns import Turn
from tests.demo.chat_client import post, read_stream, stream
from tests.demo.peer import Json

HELLO: list[Json] = [{"role": "user", "content": "你好"}]
SOON_S = 0.1
BROKEN = (requests.exceptions.ChunkedEncodingError, requests.exceptions.ConnectionError)


@pytest.fixture
def model() -> Iterator[ScriptedModel]:
    with ScriptedModel() as served:
        yield served


def test_turns_are_played_in_order_and_requests_are_kept(model: ScriptedModel) -> None:
    model.add(Reply(text="一"), lambda raw: Reply(text=raw["messages"][0]["content"]))

    first = read_stream(stream(model, HELLO))
    second = read_stream(stream(model, HELLO))
    third = post(model, {"messages": HELLO})

    assert (first["text"], second["text"], third.status_code) == ("一", "你好", 400)
    assert [request["messages"] for request in model.requests] == [HELLO] * 3
    assert model.turns_left == 0


def test_several_malformed_and_unknown_calls_go_out_as_written(model: ScriptedModel) -> None:
    calls = (
        Call(tool="sandbox_exec", arguments={"argv": ["ls"]}, id="same"),
        Call(tool="sandbox_exec", arguments='{"argv": ["ls"', id="same"),
        Call(tool="launch_rockets"),
    )
    model.add(Reply(calls=calls, text="我来", reasoning="先想一想", finish="stop"))

    turn = read_stream(stream(model, HELLO))

    assert [call["name"] for call in turn["calls"]] == [call.tool for call in calls]
    assert [call["id"] for call in turn["calls"]][:2] == ["same", "same"]
    assert turn["calls"][1]["arguments"] == '{"argv": ["ls"'
    assert (turn["text"], turn["reasoning"], turn["finish"]) == ("我来", "先想一想", "stop")


@pytest.mark.parametrize("finish", ["length", "content_filter", "network_error"])
def test_any_finish_reason_can_be_sent(finish: str, model: ScriptedModel) -> None:
    model.add(Reply(text="半句", finish=finish))

    assert read_stream(stream(model, HELLO))["finish"] == finish


def test_an_empty_answer_is_empty(model: ScriptedModel) -> None:
    model.add(Reply())

    turn = read_stream(stream(model, HELLO))

    assert (turn["text"], turn["calls"], turn["finish"]) == ("", [], "stop")


@pytest.mark.parametrize("is_done", [True, False])
def test_a_stream_may_end_without_a_finish_reason(is_done: bool, model: ScriptedModel) -> None:
    model.add(Unfinished(reply=Reply(text="说到一半"), is_done=is_done))

    lines = list(stream(model, HELLO))

    assert read_stream(iter(lines))["finish"] is None
    assert ("data: [DONE]" in lines) is is_done


def test_http_errors_come_with_and_without_retry_after(model: ScriptedModel) -> None:
    model.add(
        HttpError(status=429, retry_after_s=7),
        HttpError(status=529),
        HttpError(status=302, headers=(("Location", "http://127.0.0.1:1/"),)),
    )

    busy, overloaded, moved = (
        post(model, {"messages": HELLO}, allow_redirects=False) for _ in range(3)
    )

    assert (busy.status_code, busy.headers["Retry-After"]) == (429, "7")
    assert (overloaded.status_code, overloaded.headers.get("Retry-After")) == (529, None)
    assert moved.headers["Location"] == "http://127.0.0.1:1/"


@pytest.mark.parametrize(
    "turn",
    [Silent(), HeadersThenSilent(), Drip(), Drip(what="byte"), Held(reply=Reply(text="never"))],
)
def test_a_hanging_answer_ends_when_the_client_leaves(turn: Turn, model: ScriptedModel) -> None:
    model.add(turn)
    left = threading.Thread(target=_ask_and_leave, args=(model,))
    left.start()

    model.wait_for_request()
    model.wait_for_disconnect()
    left.join()

    assert model.exchanges[0].outcome is Outcome.disconnected


def _ask_and_leave(model: ScriptedModel) -> None:
    """Leave after a moment, whatever has come by then."""
    with requests.Session() as session:
        body = {"model": "scripted-1", "messages": HELLO, "stream": True}
        url = f"{model.base_url}/chat/completions"
        try:
            with session.post(url, json=body, stream=True, timeout=SOON_S) as answer:
                next(answer.iter_content(1), b"")
        except requests.RequestException:
            pass


def test_a_stream_is_cut_in_the_middle(model: ScriptedModel) -> None:
    model.add(CutOff(reply=Reply(text="很长的一段话" * 20), after_chunks=4))

    with pytest.raises(BROKEN):
        list(stream(model, HELLO))

    assert model.exchanges[0].outcome is Outcome.cut


def test_a_held_answer_comes_when_it_is_released(model: ScriptedModel) -> None:
    held = Held(reply=Reply(text="终于"))
    model.add(held)
    turns: list[Json] = []
    waiting = threading.Thread(target=lambda: turns.append(read_stream(stream(model, HELLO))))
    waiting.start()
    model.wait_for_request()

    with pytest.raises(NothingHappened):
        model.wait_for_disconnect(SOON_S)
    held.released.set()
    waiting.join()

    assert turns[0]["text"] == "终于"
    assert model.exchanges[0].outcome is Outcome.answered


def test_garbage_in_a_stream_is_sent_as_it_is(model: ScriptedModel) -> None:
    model.add(Garbage(data="{half"))

    assert "data: {half" in list(stream(model, HELLO))


def test_missing_reasoning_is_refused_when_the_server_demands_it() -> None:
    call = {"id": "c1", "type": "function", "function": {"name": "f", "arguments": "{}"}}
    called = {"role": "assistant", "content": "", "tool_calls": [call]}
    result = {"role": "tool", "tool_call_id": "c1", "content": "ok"}
    with ScriptedModel(afterwards=Reply(text="好"), demands_reasoning=True) as model:
        without = post(model, {"messages": [*HELLO, called, result]})
        given = post(model, {"messages": [*HELLO, {**called, "reasoning_content": ""}, result]})

    assert (without.status_code, given.status_code) == (400, 200)
    assert "reasoning_content" in without.json()["error"]["message"]


def test_stopping_ends_hanging_answers_and_leaves_no_thread() -> None:
    before = threading.active_count()
    with ScriptedModel([Silent()]) as model:
        asking = threading.Thread(target=_expect_a_broken_answer, args=(model,))
        asking.start()
        model.wait_for_request()
    asking.join()

    assert threading.active_count() == before
    assert model.exchanges[0].outcome is Outcome.stopped


def _expect_a_broken_answer(model: ScriptedModel) -> None:
    with pytest.raises(BROKEN):
        post(model, {"messages": HELLO})
