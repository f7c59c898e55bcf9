"""What a provider wants back unread is looked at as a reader of it would: keys, parts, every field.

And so is the id of a call, which is stored and sent again as it came.
"""

import json
from typing import Any

import pytest

from perlica.clients.model.anthropic import AnthropicReader
from perlica.clients.model.attempt_failure import AttemptFailure
from perlica.clients.model.contract import Finish, ModelCall, ModelTurn
from perlica.clients.model.openai import OpenAiReader
from perlica.clients.model.sse import ServerEvent
from perlica.domain.errors import Refused
from perlica.runtimes.checks import check_turn
from perlica.runtimes.contract import AgentTurn
from perlica.runtimes.native.runtime import read_turn
from perlica.runtimes.opaque import read_opaque
from perlica.session.transcript import record_turn
from tests.model.words import settings
from tests.session.words import CREDENTIAL, RUN

SETTINGS = settings("http://127.0.0.1:1/v1")
PASSWORD = "Huawei@" + "48213"
HALF = len(CREDENTIAL) // 2


def _check(turn: ModelTurn) -> AgentTurn:
    return check_turn(read_turn(turn), (RUN,))


def from_openai(field: dict[str, Any]) -> AgentTurn:
    reader = OpenAiReader(SETTINGS)
    delta = {"content": "好", **field}
    choice = {"index": 0, "delta": delta, "finish_reason": "stop"}
    reader.take(ServerEvent(name="", data=json.dumps({"choices": [choice]})))
    return _check(reader.draft.turn(sent_bytes=1, received_bytes=1, attempts=1))


def from_anthropic(*blocks: dict[str, Any]) -> AgentTurn:
    reader = AnthropicReader(SETTINGS)
    content = [*blocks, {"type": "text", "text": "好"}]
    reader.take_whole(json.dumps({"content": content, "stop_reason": "end_turn"}).encode())
    return _check(reader.draft.turn(sent_bytes=1, received_bytes=1, attempts=1))


@pytest.mark.parametrize(
    "field",
    [
        {"extra_content": {"DB_PASSWORD": PASSWORD}},
        {"reasoning_details": [{"type": "x", "text": "密码是："}, {"type": "y", "text": PASSWORD}]},
        {
            "reasoning_details": [
                {"type": "x", "text": f"用 {CREDENTIAL[:HALF]}"},
                {"type": "y", "text": CREDENTIAL[HALF:]},
            ]
        },
    ],
    ids=["a key says what it is", "label and value apart", "in two parts"],
)
def test_a_credential_in_a_field_wanted_back_is_seen_however_it_is_laid_out(
    field: dict[str, Any],
) -> None:
    with pytest.raises(Refused, match="protection_altered_thinking"):
        record_turn(from_openai(field))


@pytest.mark.parametrize(
    "blocks",
    [
        [{"type": "thinking", "thinking": "想", "more": CREDENTIAL}],
        [{"type": "thinking", "thinking": "想", "signature": CREDENTIAL}],
        [{"type": "redacted_thinking", "data": f"DB_PASSWORD={PASSWORD} "}],
        [{"type": "thinking", "thinking": word} for word in ("DB_PASSWORD=", PASSWORD)],
    ],
    ids=["a field nobody knows", "the signature", "what should be ciphertext", "two blocks"],
)
def test_a_credential_in_any_part_of_a_thinking_block_is_seen(blocks: list[dict[str, Any]]) -> None:
    with pytest.raises(Refused, match="protection_altered_thinking"):
        record_turn(from_anthropic(*blocks))


def test_signatures_of_any_length_are_kept_as_they_are() -> None:
    for size in (4, 24, 60, 120, 4_000):
        signature = ("Eq7Ab+/9Zk3Q" * 400)[:size]
        turn = from_anthropic({"type": "thinking", "thinking": "想", "signature": signature})

        assert signature.encode() in (record_turn(turn).event.opaque or b"")


@pytest.mark.parametrize("depth", [150, 600, 900])
def test_a_field_that_is_nested_beyond_reason_is_a_fault_of_the_attempt(depth: int) -> None:
    nested = "[" * depth + "]" * depth
    detail = (
        f'{{"choices":[{{"delta":{{"extra_content":{{"x":{nested}}}}},"finish_reason":"stop"}}]}}'
    )
    block = f'{{"content":[{{"type":"thinking","x":{nested}}}],"stop_reason":"end_turn"}}'

    with pytest.raises(AttemptFailure) as from_one:
        OpenAiReader(SETTINGS).take(ServerEvent(name="", data=detail))
    with pytest.raises(AttemptFailure) as from_the_other:
        AnthropicReader(SETTINGS).take_whole(block.encode())

    assert from_one.value.code == from_the_other.value.code == "model_bad_stream"


def test_a_credential_as_the_id_of_a_call_is_not_kept() -> None:
    asked = ModelTurn(
        text="",
        calls=(ModelCall(provider_id=CREDENTIAL, name=RUN.name, arguments_json="{}"),),
        finish=Finish.calls,
        input_tokens=1,
        output_tokens=1,
    )

    (call,) = record_turn(check_turn(read_turn(asked), (RUN,), set())).calls

    assert call.provider_call_id == call.id


@pytest.mark.parametrize(
    "opaque",
    [b"\xff", b"{", b'{"a": 1, "a": 2}', b"[" * 100_000, b'{"a":' * 500 + b"1" + b"}" * 500],
)
def test_bytes_that_a_scan_would_not_see_whole_are_not_read_at_all(opaque: bytes) -> None:
    with pytest.raises(ValueError, match=r"."):
        read_opaque(opaque)


@pytest.mark.parametrize("opaque", [None, b"", b"{}", b"[]", b"null"])
def test_bytes_that_say_nothing_need_no_scan(opaque: bytes | None) -> None:
    assert read_opaque(opaque) == ()
