"""The OpenAI-compatible API as its many servers really speak it, over real sockets."""

import json

import pytest

from perlica.clients.model.contract import Finish, ModelTurn
from perlica.clients.model.openai import OpenAiClient
from perlica.clients.model.settings import Dialect, MaxTokensField
from perlica.conversation import Conversation
from perlica.domain.cancel import CancelToken
from perlica.domain.errors import Misconfigured, PerlicaError, Refused, Retryable
from tests.model.server import Answer, Json, RawServer, Talk, encode_event, stream, whole
from tests.model.words import DONE, QUESTION, RUN, called, delta, piece, settings, usage


def ask(
    answer: Answer, conversation: Conversation = QUESTION, **changes: Json
) -> tuple[ModelTurn, Json]:
    """One turn, and the request that asked for it."""
    with RawServer(answer) as server:
        client = OpenAiClient(settings(server.url, **changes))
        try:
            turn = client.complete(conversation, (RUN,), CancelToken())
        finally:
            client.close()
    return turn, server.requests[0].json


def test_a_streamed_answer_is_put_together_with_its_usage() -> None:
    turn, _ = ask(
        stream(
            delta(role="assistant", content=""),
            delta(content="你"),
            delta(content="好"),
            delta("stop"),
            usage(12, 3),
            DONE,
        )
    )

    assert turn == ModelTurn(
        text="你好", calls=(), finish=Finish.stop, input_tokens=12, output_tokens=3
    )


@pytest.mark.parametrize("size", [1, 2, 3, 7, 64])
def test_a_character_that_is_split_between_packets_stays_one(size: int) -> None:
    answer = stream(delta(content="部署🙂完成"), delta("stop"), DONE, sizes=[size])

    turn, _ = ask(answer)

    assert turn.text == "部署🙂完成"


def test_text_is_utf8_although_the_header_names_no_charset() -> None:
    turn, _ = ask(stream(delta(content="café 你好"), delta("stop"), DONE))

    assert turn.text == "café 你好"


def test_a_stream_that_is_not_utf8_is_a_failure_and_not_a_guess() -> None:
    with pytest.raises(Retryable, match="model_bad_stream"):
        ask(stream(b'data: {"choices":[{"delta":{"content":"\xff"}}]}\n\n', delta("stop"), DONE))


def test_comments_and_blank_lines_are_skipped() -> None:
    noise = b": keep-alive\n\n\n\n:\nretry: 5\n\nid: 4\n\n"

    turn, _ = ask(stream(noise, delta(content="a"), noise, delta("stop"), noise, DONE))

    assert turn.text == "a"


def test_every_kind_of_line_end_is_understood() -> None:
    body = (delta(content="a") + delta("stop") + DONE).decode()

    for end in ("\r\n", "\r", "\n"):
        turn, _ = ask(stream(body.replace("\n", end).encode(), sizes=[1]))
        assert turn.text == "a"


def test_calls_are_put_together_by_index_with_id_and_name_from_the_first_piece() -> None:
    turn, _ = ask(
        stream(
            piece(0, id="call_a", type="function", name="sandbox_exec", arguments=""),
            piece(1, id="call_b", type="function", name="sandbox_read", arguments='{"pa'),
            piece(0, arguments='{"argv":'),
            piece(1, arguments='th":"/a"}'),
            piece(0, arguments='["ls"]}'),
            delta("tool_calls"),
            DONE,
        )
    )

    assert [(call.provider_id, call.name, call.arguments_json) for call in turn.calls] == [
        ("call_a", "sandbox_exec", '{"argv":["ls"]}'),
        ("call_b", "sandbox_read", '{"path":"/a"}'),
    ]
    assert turn.finish is Finish.calls


def test_calls_without_an_index_are_told_apart_by_their_id() -> None:
    turn, _ = ask(
        stream(
            piece(id="x", name="a", arguments='{"n":'),
            piece(arguments="1}"),
            piece(id="y", name="b", arguments="{}"),
            delta("tool_calls"),
            DONE,
        )
    )

    assert [(call.name, call.arguments_json) for call in turn.calls] == [
        ("a", '{"n":1}'),
        ("b", "{}"),
    ]


def test_arguments_that_come_as_an_object_are_taken_as_json() -> None:
    turn, _ = ask(stream(piece(0, id="x", name="a", arguments={"n": 1}), delta("tool_calls"), DONE))

    assert json.loads(turn.calls[0].arguments_json) == {"n": 1}


def test_stop_beside_tool_calls_means_tool_calls() -> None:
    turn, _ = ask(stream(piece(0, id="x", name="a", arguments="{}"), delta("stop"), DONE))

    assert turn.finish is Finish.calls


@pytest.mark.parametrize(
    ("reason", "finish"),
    [
        ("stop", Finish.stop),
        ("end", Finish.stop),
        ("length", Finish.length),
        ("max_tokens", Finish.length),
        ("content_filter", Finish.filtered),
        ("sensitive", Finish.filtered),
    ],
)
def test_finish_reasons_are_put_into_one_vocabulary(reason: str, finish: Finish) -> None:
    turn, _ = ask(stream(delta(content="a"), delta(reason), DONE))

    assert turn.finish is finish


@pytest.mark.parametrize("reason", ["network_error", "unknown", "insufficient_system_resource"])
def test_a_finish_reason_that_is_a_fault_is_a_failure(reason: str) -> None:
    with pytest.raises(Retryable, match="model_bad_finish"):
        ask(stream(delta(content="a"), delta(reason), DONE))


def test_announced_calls_that_never_came_are_a_failure() -> None:
    with pytest.raises(Retryable, match="model_bad_finish"):
        ask(stream(delta(content="a"), delta("tool_calls"), DONE))


@pytest.mark.parametrize("end", [(), (DONE,)])
def test_a_stream_without_a_finish_reason_is_a_failure(end: tuple[bytes, ...]) -> None:
    with pytest.raises(Retryable, match="model_stream_cut"):
        ask(stream(delta(content="half an answer"), *end))


def test_a_stream_that_breaks_off_after_its_finish_is_whole() -> None:
    def answer(talk: Talk) -> None:
        talk.send_head(Content_Type="text/event-stream", Transfer_Encoding="chunked")
        talk.send_chunk(delta(content="a") + delta("stop"))
        talk.conn.close()

    turn, _ = ask(answer)

    assert turn.text == "a"


def test_a_refusal_is_a_filtered_answer() -> None:
    turn, _ = ask(stream(delta(refusal="I cannot"), delta("stop"), DONE))

    assert turn.finish is Finish.filtered


def test_an_answer_in_one_document_is_understood_behind_blank_lines() -> None:
    document = {
        "choices": [{"message": {"content": "ok"}, "finish_reason": "stop"}],
        "usage": {"prompt_tokens": 1, "completion_tokens": 2},
    }

    turn, _ = ask(whole(b"\n\n\n" + json.dumps(document).encode()))

    assert (turn.text, turn.input_tokens, turn.output_tokens) == ("ok", 1, 2)


def test_content_that_comes_as_parts_is_read() -> None:
    parts = [{"type": "text", "text": "a"}, {"type": "image"}, {"type": "text", "text": "b"}]

    turn, _ = ask(stream(delta(content=parts), delta("stop"), DONE))

    assert turn.text == "ab"


def test_a_thinking_block_inside_the_text_is_no_part_of_the_answer() -> None:
    turn, _ = ask(
        stream(delta(content="<think>hm"), delta(content="</think>\nja"), delta("stop"), DONE)
    )

    assert turn.text == "ja"


def test_missing_usage_is_estimated_and_said_to_be() -> None:
    turn, request = ask(stream(delta(content="x" * 400), delta("stop"), DONE))

    assert turn.usage_is_estimate
    assert turn.output_tokens == 100
    assert (
        turn.input_tokens
        == len(json.dumps(request, ensure_ascii=False, separators=(",", ":")).encode()) // 4
    )


@pytest.mark.parametrize("count", [-1, True, "7", 10**12, None, 1.5])
def test_usage_that_cannot_be_is_not_believed(count: object) -> None:
    lie = encode_event({"choices": [], "usage": {"prompt_tokens": count, "completion_tokens": 1}})

    turn, _ = ask(stream(delta(content="a"), delta("stop"), lie, DONE))

    assert turn.usage_is_estimate


@pytest.mark.parametrize(
    "chunk",
    [b"data: {\n\n", b"data: []\n\n", b'data: "x"\n\n', b"data: " + b"[" * 100_000 + b"\n\n"],
)
def test_a_chunk_that_is_no_object_is_a_failure(chunk: bytes) -> None:
    with pytest.raises(Retryable, match="model_bad_stream"):
        ask(stream(chunk, delta("stop"), DONE))


@pytest.mark.parametrize(
    "nonsense",
    [{"choices": None}, {"choices": [None]}, {"choices": [{"delta": []}]}, {}, {"usage": 3},
     {"choices": [{"delta": {"content": 5, "tool_calls": {"a": 1}}}]}],
)  # fmt: skip
def test_odd_shapes_inside_a_chunk_are_ignored(nonsense: object) -> None:
    turn, _ = ask(stream(encode_event(nonsense), delta(content="a"), delta("stop"), DONE))

    assert turn.text == "a"


@pytest.mark.parametrize(
    ("error", "expected"),
    [
        ({"message": "server overloaded"}, Retryable),
        ({"code": "content_filter"}, Refused),
        ({"code": "insufficient_quota"}, Misconfigured),
        ({"type": "authentication_error"}, Misconfigured),
        ({"type": "invalid_request_error"}, Refused),
    ],
)
def test_an_error_inside_the_stream_is_told_by_what_may_be_done(
    error: object, expected: type[PerlicaError]
) -> None:
    with pytest.raises(expected):
        ask(stream(delta(content="a"), encode_event({"error": error})))


def test_an_answer_above_the_limit_is_refused() -> None:
    with pytest.raises(Refused, match="model_answer_too_large"):
        ask(stream(delta(content="x" * 5_000), delta("stop"), DONE), max_text_bytes=4_000)
    with pytest.raises(Refused, match="model_answer_too_large"):
        ask(stream(b": " + b"x" * 50_000 + b"\n", delta("stop")), max_response_bytes=20_000)


def test_arguments_above_the_limit_are_dropped_and_the_call_is_marked() -> None:
    turn, _ = ask(
        stream(
            piece(0, id="x", name="a", arguments='{"content":"'),
            piece(0, arguments="y" * 3_000),
            piece(0, arguments='"}'),
            piece(1, id="z", name="b", arguments="{}"),
            delta("tool_calls"),
            DONE,
        ),
        max_argument_bytes=2_000,
    )

    assert [(c.is_oversized, c.arguments_json) for c in turn.calls] == [(True, ""), (False, "{}")]


def test_more_calls_than_the_limit_are_refused() -> None:
    pieces = [piece(n, id=f"x{n}", name="a", arguments="{}") for n in range(4)]

    with pytest.raises(Refused, match="model_too_many_calls"):
        ask(stream(*pieces, delta("tool_calls"), DONE), max_calls=3)


def test_the_request_declares_tools_and_asks_for_usage() -> None:
    _, request = ask(stream(delta(content="a"), delta("stop"), DONE))

    assert request == {
        "model": "test-model",
        "messages": [{"role": "system", "content": "规则"}, {"role": "user", "content": "你好"}],
        "stream": True,
        "stream_options": {"include_usage": True},
        "max_tokens": 8192,
        "tools": [
            {
                "type": "function",
                "function": {
                    "name": "sandbox_exec",
                    "description": "Run a command.",
                    "parameters": dict(RUN.parameters),
                },
            }
        ],
        "tool_choice": "auto",
    }


def test_a_call_is_replayed_with_null_content_and_its_result_follows() -> None:
    _, request = ask(
        stream(delta(content="a"), delta("stop"), DONE), called("call_1", '{"argv": ["ls"]}')
    )

    assert request["messages"][2:] == [
        {
            "role": "assistant",
            "content": None,
            "tool_calls": [
                {
                    "id": "call_1",
                    "type": "function",
                    "function": {"name": "sandbox_exec", "arguments": '{"argv":["ls"]}'},
                }
            ],
        },
        {"role": "tool", "tool_call_id": "call_1", "content": "exit code 0"},
    ]


def test_arguments_that_are_no_object_are_replayed_as_an_empty_one() -> None:
    _, request = ask(stream(delta(content="a"), delta("stop"), DONE), called("c", '{"argv": ["l'))

    assert request["messages"][2]["tool_calls"][0]["function"]["arguments"] == "{}"


@pytest.mark.parametrize(
    ("dialect", "reasoning", "replayed"),
    [
        ("none", "hm", None),
        ("deepseek", "hm", "hm"),
        ("deepseek", None, ""),
        ("kimi", "hm", "hm"),
        ("kimi", None, ""),
        ("auto", "hm", "hm"),
        ("auto", "", ""),
        ("auto", None, None),
    ],
)
def test_thinking_is_replayed_as_the_dialect_wants_it(
    dialect: str, reasoning: str | None, replayed: str | None
) -> None:
    _, request = ask(
        stream(delta(content="a"), delta("stop"), DONE),
        called("c", reasoning=reasoning),
        dialect=Dialect(dialect),
    )

    assert request["messages"][2].get("reasoning_content") == replayed


@pytest.mark.parametrize("name", ["reasoning_content", "reasoning"])
def test_thinking_is_kept_apart_from_the_text(name: str) -> None:
    turn, _ = ask(
        stream(delta(**{name: "h"}), delta(**{name: "m"}), delta(content="a"), delta("stop"), DONE)
    )

    assert (turn.reasoning, turn.text) == ("hm", "a")


def test_extra_fields_and_the_name_of_the_limit_are_configured() -> None:
    _, request = ask(
        stream(delta(content="a"), delta("stop"), DONE),
        extra_body={"enable_thinking": False},
        max_tokens_field=MaxTokensField.max_completion_tokens,
        max_output_tokens=100,
        temperature=0.2,
        asks_for_usage=False,
    )

    assert request["enable_thinking"] is False
    assert request["max_completion_tokens"] == 100
    assert request["temperature"] == 0.2
    assert {"max_tokens", "stream_options"}.isdisjoint(request)
