"""Answers in the shapes that servers really send, over real sockets and both interfaces."""

import json

import pytest

from perlica.clients.model.anthropic import AnthropicReader
from perlica.clients.model.contract import Finish, ModelTurn
from perlica.clients.model.openai import OpenAiClient, OpenAiReader
from perlica.clients.model.sse import ServerEvent
from perlica.conversation import ToolSpec
from perlica.domain.cancel import CancelToken
from perlica.domain.errors import Misconfigured
from perlica.runtimes.checks import check_turn
from perlica.runtimes.contract import AgentTurn, CallFault
from perlica.runtimes.native.runtime import read_turn
from tests.model.server import Json, RawServer, Talk
from tests.model.words import QUESTION, settings

SETTINGS = settings("http://127.0.0.1:1/v1")
LIST = ToolSpec(name="sandbox_manage", description="", parameters={"type": "object"})
RECENT = ToolSpec(name="group_recent_context", description="", parameters={"type": "object"})
A = (LIST.name, '{"action":"list"}')
B = (RECENT.name, '{"limit":5}')

HI = b'data: {"choices":[{"index":0,"delta":{"content":"443"}}]}\n\n'
END = b'data: {"choices":[{"index":0,"delta":{},"finish_reason":"stop"}]}\n\n'
WHOLE = b'{"choices":[{"index":0,"message":{"content":"443"},"finish_reason":"stop"}]}'


def piece(name: str | None, arguments: object, **more: Json) -> Json:
    function = {} if name is None else {"name": name}
    return {**more, "function": {**function, "arguments": arguments}}


def calls_of(*chunks: list[Json]) -> list[tuple[str, str]]:
    """What becomes of the pieces of calls in these chunks."""
    reader = OpenAiReader(SETTINGS)
    for calls in chunks:
        data = json.dumps({"choices": [{"index": 0, "delta": {"tool_calls": calls}}]})
        reader.take(ServerEvent(name="", data=data))
    reader.take(
        ServerEvent(name="", data='{"choices":[{"delta":{},"finish_reason":"tool_calls"}]}')
    )
    turn = reader.draft.turn(sent_bytes=1, received_bytes=1, attempts=1)
    return [(call.name, call.arguments_json) for call in turn.calls]


@pytest.mark.parametrize(
    "chunks",
    [
        ([piece(*A, index=0, id="a")], [piece(*B, index=0, id="b")]),
        ([piece(*A, index=0, id="a"), piece(*B, index=0, id="b")],),
        ([piece(*A, index=0)], [piece(*B, index=0)]),
        ([piece(*A, id=""), piece(*B, id="")],),
        ([piece(*A)], [piece(*B)]),
        ([piece(*A, id="a")], [piece(*B, id="b")]),
        ([piece(*B, index=1, id="b")], [piece(*A, index=0, id="a")]),
        ([piece(A[0], A[1][:5], index=0, id="a")], [piece(None, A[1][5:], index=0)],
         [piece(*B, index=0, id="b")]),
        ([piece(A[0], A[1][:5], id="a")], [piece(None, A[1][5:], id="another")],
         [piece(*B, id="b")]),
    ],
)  # fmt: skip
def test_two_calls_of_one_turn_stay_two_whatever_index_and_id_say(chunks: list[list[Json]]) -> None:
    assert calls_of(*chunks) == [A, B]


@pytest.mark.parametrize(
    "chunks",
    [
        ([piece("sandbox_", "", index=0, id="a")], [piece("manage", A[1], index=0)]),
        ([piece("sandbox_", "", index=0)], [piece("sandbox_manage", A[1], index=0)]),
        ([piece(A[0], A[1][:5], index=0, id="a")], [piece(A[0], A[1][5:], index=0, id="a")]),
        ([piece(A[0], A[1][:5])], [piece(A[0], A[1][5:])]),
        ([piece(A[0], A[1][:5], index=0, id="a")], [piece(None, A[1][5:], index=0, id="b")]),
        ([piece(A[0], None, index=0, id="a")], [piece(None, {"action": "list"}, index=0)]),
    ],
)
def test_one_call_in_pieces_stays_one(chunks: list[list[Json]]) -> None:
    assert calls_of(*chunks) == [A]


def test_the_same_call_twice_without_index_and_id_is_two_calls() -> None:
    assert calls_of([piece(*A)], [piece(*A)]) == [A, A]


def test_a_call_in_the_field_of_before_tools_is_a_call() -> None:
    reader = OpenAiReader(SETTINGS)
    choice = {"delta": {"function_call": {"name": A[0], "arguments": A[1]}}}
    for body in (choice, {"delta": {}, "finish_reason": "function_call"}):
        reader.take(ServerEvent(name="", data=json.dumps({"choices": [body]})))

    (call,) = reader.draft.turn(sent_bytes=1, received_bytes=1, attempts=1).calls
    assert (call.name, call.arguments_json) == A


def test_two_blocks_of_one_index_are_two_calls_over_the_other_interface() -> None:
    reader = AnthropicReader(SETTINGS)
    for name, arguments in (A, B):
        block = {"type": "tool_use", "id": name, "name": name, "input": {}}
        part = {"type": "input_json_delta", "partial_json": arguments}
        for body in (
            {"type": "content_block_start", "index": 0, "content_block": block},
            {"type": "content_block_delta", "index": 0, "delta": part},
        ):
            reader.take(ServerEvent(name="", data=json.dumps(body)))
    end = {"type": "message_delta", "delta": {"stop_reason": "tool_use"}}
    reader.take(ServerEvent(name="", data=json.dumps(end)))

    turn = reader.draft.turn(sent_bytes=1, received_bytes=1, attempts=1)
    assert [(call.name, call.arguments_json) for call in turn.calls] == [A, B]


def checked(reader: OpenAiReader | AnthropicReader, *events: str) -> AgentTurn:
    for data in events:
        reader.take(ServerEvent(name="", data=data))
    turn = reader.draft.turn(sent_bytes=1, received_bytes=1, attempts=1)
    return check_turn(read_turn(turn), [RECENT], set())


@pytest.mark.parametrize("arguments", ['""', "null", '" "', '"\\n"', "{}", '"{}"', "missing"])
def test_a_call_without_arguments_is_a_call_with_none(arguments: str) -> None:
    part = "" if arguments == "missing" else f',"arguments":{arguments}'
    call = f'{{"index":0,"id":"c","function":{{"name":"{RECENT.name}"{part}}}}}'
    body = f'{{"choices":[{{"delta":{{"tool_calls":[{call}]}},"finish_reason":"tool_calls"}}]}}'

    (made,) = checked(OpenAiReader(SETTINGS), body).calls

    assert (made.fault, json.loads(made.arguments_json)) == (None, {})


@pytest.mark.parametrize("number", ["Infinity", "-Infinity", "NaN", "1e999"])
def test_a_number_that_json_has_not_makes_a_call_that_never_runs(number: str) -> None:
    arguments = f'{{"limit":{number}}}'
    call = f'{{"id":"c","function":{{"name":"{RECENT.name}","arguments":{arguments}}}}}'
    body = f'{{"choices":[{{"delta":{{"tool_calls":[{call}]}},"finish_reason":"tool_calls"}}]}}'
    block = f'{{"type":"tool_use","id":"c","name":"{RECENT.name}","input":{arguments}}}'
    start = f'{{"type":"content_block_start","index":0,"content_block":{block}}}'
    end = '{"type":"message_delta","delta":{"stop_reason":"tool_use"}}'

    (over_openai,) = checked(OpenAiReader(SETTINGS), body).calls
    (over_anthropic,) = checked(AnthropicReader(SETTINGS), start, end).calls

    assert over_openai.fault is CallFault.malformed_arguments
    assert over_anthropic.fault is CallFault.malformed_arguments


def ask(media_type: str, body: bytes) -> ModelTurn:
    def answer(talk: Talk) -> None:
        talk.send_head(Content_Type=media_type, Content_Length=str(len(body)))
        talk.send(body)

    with RawServer(answer) as server:
        client = OpenAiClient(settings(server.url))
        try:
            return client.complete(QUESTION, (), CancelToken())
        finally:
            client.close()


@pytest.mark.parametrize("media_type", ["text/event-stream", "application/json", "text/plain", ""])
@pytest.mark.parametrize(
    "body",
    [
        HI + b"data:\n\n" + b"data: \n\n" + END + b"data: [DONE]\n\n",
        b"\n\n: ping\n\n" + HI + END,
        b"\xef\xbb\xbf" + HI + END,
        WHOLE,
        b"\n \r\n" + WHOLE,
    ],
)
def test_a_body_is_read_as_what_it_is_and_not_as_what_it_is_called(
    media_type: str, body: bytes
) -> None:
    turn = ask(media_type, body)

    assert (turn.text, turn.finish) == ("443", Finish.stop)


@pytest.mark.parametrize("media_type", ["text/html", "application/json", "text/event-stream"])
def test_a_web_page_is_told_from_an_answer_whatever_it_is_called(media_type: str) -> None:
    with pytest.raises(Misconfigured, match="model_no_api"):
        ask(media_type, b"\n<!doctype html><title>Welcome</title>")


def test_an_error_of_minimax_inside_a_200_is_an_error() -> None:
    body = {"choices": None, "base_resp": {"status_code": 1008, "status_msg": "insufficient"}}

    with pytest.raises(Misconfigured, match="model_balance"):
        ask("application/json", json.dumps(body).encode())


def test_thinking_inside_the_text_is_no_answer_over_either_interface() -> None:
    text = "<think>\n先想想。\n</think>\n443"
    block = {"type": "content_block_start", "content_block": {"type": "text", "text": text}}
    choice = {"delta": {"content": text}, "finish_reason": "stop"}

    over_openai = checked(OpenAiReader(SETTINGS), json.dumps({"choices": [choice]}))
    over_anthropic = checked(
        AnthropicReader(SETTINGS),
        json.dumps(block),
        '{"type":"message_delta","delta":{"stop_reason":"end_turn"}}',
    )

    assert over_openai.text == over_anthropic.text == "443"
