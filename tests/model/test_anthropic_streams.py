"""The Anthropic messages API over real sockets: blocks, signatures, tool use, replay."""

import json

import pytest

from perlica.clients.model.anthropic import AnthropicClient
from perlica.clients.model.contract import Finish, ModelTurn
from perlica.clients.model.thinking import unpack_thinking
from perlica.conversation import (
    MAX_OPAQUE_BYTES,
    AssistantMessage,
    SentCall,
    ToolMessage,
    UserMessage,
)
from perlica.domain.cancel import CancelToken
from perlica.domain.errors import Misconfigured, PerlicaError, Refused, Retryable
from tests.model.server import Answer, Json, RawServer, Request, encode_event, stream, whole
from tests.model.words import QUESTION, RUN, called, sealed, settings

THOUGHT = {"type": "thinking", "thinking": "", "signature": ""}


def event(kind: str, **fields: Json) -> bytes:
    return encode_event({"type": kind, **fields}, kind)


def start(index: int, **block: Json) -> bytes:
    return event("content_block_start", index=index, content_block=block)


def more(index: int, kind: str, **fields: Json) -> bytes:
    return event("content_block_delta", index=index, delta={"type": kind, **fields})


def message(*events: bytes, reason: str = "end_turn") -> Answer:
    return stream(
        event("message_start", message={"usage": {"input_tokens": 10, "output_tokens": 1}}),
        event("ping"),
        *events,
        event("message_delta", delta={"stop_reason": reason}, usage={"output_tokens": 7}),
        event("message_stop"),
    )


def ask(
    answer: Answer, conversation: Json = QUESTION, **changes: Json
) -> tuple[ModelTurn, Json, Request]:
    with RawServer(answer) as server:
        url = server.url.removesuffix("/v1")
        client = AnthropicClient(settings(url, key=lambda: "k", **changes))
        try:
            turn = client.complete(conversation, (RUN,), CancelToken())
        finally:
            client.close()
    return turn, server.requests[0].json, server.requests[0]


def test_a_streamed_answer_is_put_together() -> None:
    turn, _, request = ask(
        message(
            start(0, type="text", text=""),
            more(0, "text_delta", text="你"),
            more(0, "text_delta", text="好"),
            event("content_block_stop", index=0),
        )
    )

    assert (turn.text, turn.finish, turn.input_tokens, turn.output_tokens) == (
        "你好",
        Finish.stop,
        10,
        7,
    )
    assert request.line == "POST /v1/messages HTTP/1.1"
    assert request.headers["x-api-key"] == "k"
    assert request.headers["anthropic-version"] == "2023-06-01"


def test_cached_input_counts_as_input() -> None:
    turn, _, _ = ask(
        stream(
            event(
                "message_start",
                message={
                    "usage": {
                        "input_tokens": 10,
                        "cache_read_input_tokens": 100,
                        "cache_creation_input_tokens": 5,
                    }
                },
            ),
            start(0, type="text", text="a"),
            event("message_delta", delta={"stop_reason": "end_turn"}, usage={"output_tokens": 2}),
            event("message_stop"),
        )
    )

    assert (turn.input_tokens, turn.output_tokens, turn.usage_is_estimate) == (115, 2, False)


def test_tool_calls_are_put_together_from_partial_json() -> None:
    turn, _, _ = ask(
        message(
            start(0, type="tool_use", id="toolu_1", name="sandbox_exec", input={}),
            more(0, "input_json_delta", partial_json=""),
            more(0, "input_json_delta", partial_json='{"argv":'),
            more(0, "input_json_delta", partial_json='["ls"]}'),
            start(1, type="tool_use", id="toolu_2", name="sandbox_list", input={}),
            reason="tool_use",
        )
    )

    assert [(c.provider_id, c.name, c.arguments_json) for c in turn.calls] == [
        ("toolu_1", "sandbox_exec", '{"argv":["ls"]}'),
        ("toolu_2", "sandbox_list", "{}"),
    ]
    assert turn.finish is Finish.calls


@pytest.mark.parametrize(
    ("reason", "finish"),
    [
        ("end_turn", Finish.stop),
        ("stop_sequence", Finish.stop),
        ("max_tokens", Finish.length),
        ("model_context_window_exceeded", Finish.length),
        ("refusal", Finish.filtered),
    ],
)
def test_stop_reasons_are_put_into_one_vocabulary(reason: str, finish: Finish) -> None:
    turn, _, _ = ask(message(start(0, type="text", text="a"), reason=reason))

    assert turn.finish is finish


@pytest.mark.parametrize("reason", ["pause_turn", "something_new"])
def test_a_stop_reason_that_is_not_known_is_a_failure(reason: str) -> None:
    with pytest.raises(Retryable, match="model_bad_finish"):
        ask(message(start(0, type="text", text="a"), reason=reason))


def test_a_stream_without_a_stop_reason_is_a_failure() -> None:
    with pytest.raises(Retryable, match="model_stream_cut"):
        ask(stream(start(0, type="text", text="a"), event("message_stop")))


@pytest.mark.parametrize(
    ("kind", "expected"),
    [
        ("overloaded_error", Retryable),
        ("api_error", Retryable),
        ("rate_limit_error", Retryable),
        ("invalid_request_error", Refused),
        ("authentication_error", Misconfigured),
        ("permission_error", Misconfigured),
    ],
)
def test_an_error_event_is_told_by_what_may_be_done(
    kind: str, expected: type[PerlicaError]
) -> None:
    error = event("error", error={"type": kind, "message": "words"})

    with pytest.raises(expected):
        ask(stream(start(0, type="text", text="a"), error))


def test_unknown_events_and_deltas_are_ignored() -> None:
    turn, _, _ = ask(
        message(
            event("something_new", index="x"),
            start(0, type="text", text="a"),
            start(1, type="new_block"),
            more(1, "new_delta", text="b"),
            more(9, "input_json_delta", partial_json="{}"),
            more(9, "signature_delta", signature="s"),
        )
    )

    assert (turn.text, turn.calls, turn.opaque) == ("a", (), None)


REDACTED_THINKING = {"type": "redacted_thinking", "data": "EmwKAhgB+/=="}
REPLAYED_TURN = [
    {
        "role": "assistant",
        "content": [
            {"type": "thinking", "thinking": "先看\n再做\u2028", "signature": "EqQBCg=="},
            REDACTED_THINKING,
            {"type": "text", "text": "好"},
            {"type": "thinking", "thinking": "那么", "signature": ""},
            {
                "type": "tool_use",
                "id": "toolu_1",
                "name": "sandbox_exec",
                "input": {"argv": []},
            },
        ],
    },
    {
        "role": "user",
        "content": [
            {
                "type": "tool_result",
                "tool_use_id": "toolu_1",
                "content": "ok",
                "is_error": True,
            },
            {"type": "text", "text": "继续"},
        ],
    },
]


def test_signed_thinking_is_kept_and_replayed_unchanged() -> None:
    turn, _, _ = ask(
        message(
            start(0, **THOUGHT),
            more(0, "thinking_delta", thinking="先看\n"),
            more(0, "thinking_delta", thinking="再做\u2028"),
            more(0, "signature_delta", signature="EqQB"),
            more(0, "signature_delta", signature="Cg=="),
            start(1, **REDACTED_THINKING),
            start(2, type="text", text="好"),
            start(3, **THOUGHT),
            more(3, "thinking_delta", thinking="那么"),
            start(4, type="tool_use", id="toolu_1", name="sandbox_exec", input={"argv": []}),
            reason="tool_use",
        )
    )
    earlier = AssistantMessage(
        text=sealed(turn.text),
        calls=(SentCall(wire_id="toolu_1", name="sandbox_exec", arguments=sealed('{"argv":[]}')),),
        opaque=turn.opaque,
    )
    result = ToolMessage(wire_id="toolu_1", content=sealed("ok"), is_error=True)

    _, request, _ = ask(
        message(start(0, type="text", text="a")),
        (*QUESTION, earlier, result, UserMessage(content=sealed("继续"))),
    )

    assert request["messages"][1:] == REPLAYED_TURN
    thoughts = [block.block.get("thinking") for block in unpack_thinking(turn.opaque)]
    assert len(thoughts) == 3
    assert [thought for thought in thoughts if thought] == ["先看\n再做\u2028", "那么"]


def test_thinking_that_is_too_long_to_keep_is_refused() -> None:
    with pytest.raises(Refused, match="model_answer_too_large"):
        ask(
            message(
                start(0, **THOUGHT), more(0, "thinking_delta", thinking="x" * MAX_OPAQUE_BYTES)
            ),
            max_text_bytes=4 * MAX_OPAQUE_BYTES,
        )


def test_an_answer_in_one_document_is_understood() -> None:
    turn, _, _ = ask(
        whole(
            {
                "content": [
                    {"type": "thinking", "thinking": "t", "signature": "s"},
                    {"type": "text", "text": "a"},
                    {"type": "tool_use", "id": "x", "name": "sandbox_exec", "input": {"argv": []}},
                ],
                "stop_reason": "tool_use",
                "usage": {"input_tokens": 1, "output_tokens": 2},
            }
        )
    )

    assert (turn.text, turn.calls[0].arguments_json) == ("a", '{"argv":[]}')
    assert [block.block["thinking"] for block in unpack_thinking(turn.opaque)] == ["t"]


def test_the_request_keeps_system_apart_and_declares_tools() -> None:
    _, request, _ = ask(
        message(start(0, type="text", text="a")),
        called("toolu_9", '{"argv": ["ls"]}'),
        extra_body={"thinking": {"type": "enabled", "budget_tokens": 1024}},
    )

    assert request["system"] == "规则"
    assert request["max_tokens"] == 8192
    assert request["thinking"] == {"type": "enabled", "budget_tokens": 1024}
    assert request["tools"] == [
        {
            "name": "sandbox_exec",
            "description": "Run a command.",
            "input_schema": dict(RUN.parameters),
        }
    ]
    assert [turn["role"] for turn in request["messages"]] == ["user", "assistant", "user"]
    assert json.dumps(request["messages"][1]["content"]) == json.dumps(
        [{"type": "tool_use", "id": "toolu_9", "name": "sandbox_exec", "input": {"argv": ["ls"]}}]
    )
