"""Fields of a turn that its provider wants back: kept over a restart, sent again, shown nowhere."""

import json
from pathlib import Path
from typing import Any

import pytest

from perlica.clients.model.anthropic import AnthropicApi
from perlica.clients.model.openai import OpenAiApi, OpenAiReader
from perlica.clients.model.sse import ServerEvent
from perlica.clients.model.wanted_back import WANTED_BACK, Place, WantedField
from perlica.domain.errors import Refused
from perlica.domain.task import EndReason
from perlica.domain.texts.notices import REASONS
from perlica.runtimes.checks import check_turn
from perlica.runtimes.contract import AgentTurn, find_end_reason
from perlica.runtimes.native.runtime import read_turn
from perlica.runtimes.opaque import CIPHERTEXT
from perlica.session.transcript import record_turn
from perlica.stores.database import Database
from tests.model.words import settings
from tests.session.test_transcript import Session
from tests.session.words import CREDENTIAL, RUN
from tests.stores.rows import begin_task

SETTINGS = settings("http://127.0.0.1:1/v1")
SIGNATURE = {"google": {"thought_signature": "c2lnbmF0dXJl"}}


def read(*deltas: dict[str, Any]) -> AgentTurn:
    """The checked turn that these pieces make."""
    reader = OpenAiReader(SETTINGS)
    for delta in deltas:
        reader.take(ServerEvent(name="", data=json.dumps({"choices": [{"delta": delta}]})))
    end = {"choices": [{"delta": {}, "finish_reason": "tool_calls"}]}
    reader.take(ServerEvent(name="", data=json.dumps(end)))
    turn = reader.draft.turn(sent_bytes=1, received_bytes=1, attempts=1)
    return check_turn(read_turn(turn), (RUN,), set())


def call(number: int = 0, **more: object) -> dict[str, Any]:
    function = {"name": RUN.name, "arguments": "{}"}
    return {"index": number, "id": f"c{number}", "type": "function", "function": function, **more}


def sent_after_a_restart(path: Path, turn: AgentTurn) -> dict[str, Any]:
    """The assistant message of the next request, made by a process that knows only the rows."""
    with Database.open(path) as db:
        session = Session(db, begin_task(db).id)
        session.open()
        for one in session.take(turn):
            session.answer(one, "ok")
    with Database.open(path) as db:
        again = Session(db, session.task).conversation()
    messages = json.loads(OpenAiApi(SETTINGS).encode(again, (RUN,)))["messages"]
    found: dict[str, Any] = next(one for one in messages if one["role"] == "assistant")
    return found


@pytest.mark.parametrize("row", WANTED_BACK, ids=lambda row: f"{row.place}-{row.name}")
def test_every_field_that_a_provider_wants_back_is_sent_again_unchanged(
    path: Path, row: WantedField
) -> None:
    value: object = [{"type": "x", **SIGNATURE}] if row.name.endswith("s") else SIGNATURE
    is_call = row.place is Place.call
    field = {row.name: value}
    first_call = {**call(), **(field if is_call else {})}
    turn = read({"tool_calls": [first_call, call(1)]}, {} if is_call else field)

    sent = sent_after_a_restart(path, turn)

    first, second = sent["tool_calls"]
    assert (first if is_call else sent)[row.name] == value
    assert row.name not in second


def test_a_signature_stands_at_the_call_that_it_came_with(path: Path) -> None:
    turn = read(
        {"tool_calls": [call(1, extra_content={"b": "2"})]},
        {"tool_calls": [call(0, extra_content={"a": "1"})]},
    )

    calls = sent_after_a_restart(path, turn)["tool_calls"]

    assert [(one["id"], one["extra_content"]) for one in calls] == [
        ("c0", {"a": "1"}),
        ("c1", {"b": "2"}),
    ]


def test_thinking_that_comes_in_pieces_is_sent_back_in_one(path: Path) -> None:
    text = {"type": "reasoning.text", "index": 0}
    turn = read(
        {"reasoning_details": [{**text, "text": "先"}]},
        {"reasoning_details": [{**text, "text": "想想"}]},
        {"reasoning_details": [{**text, "signature": "abc"}]},
        {"reasoning_details": [{"type": "reasoning.encrypted", "data": "xyz", "index": 1}]},
        {"tool_calls": [call()]},
    )

    assert sent_after_a_restart(path, turn)["reasoning_details"] == [
        {**text, "text": "先想想", "signature": "abc"},
        {"type": "reasoning.encrypted", "data": "xyz", "index": 1},
    ]


@pytest.mark.parametrize(
    "field",
    [
        {"extra_content": {"note": CREDENTIAL}},
        {"extra_content": {CREDENTIAL: 1}},
        {"extra_content": {"google": {"thought_signature": CREDENTIAL}}},
        {"provider_specific_fields": [[{"text": f"token: {CREDENTIAL}"}]]},
    ],
)
def test_a_field_that_protection_would_alter_ends_the_task(field: dict[str, Any]) -> None:
    with pytest.raises(Refused, match="protection_altered_thinking") as caught:
        record_turn(read({"tool_calls": [call(**field)]}))

    reason = find_end_reason(caught.value)
    assert reason is EndReason.protection_altered
    assert "像凭据的内容" in REASONS[reason].zh
    assert CREDENTIAL not in str(caught.value)


def test_thinking_of_a_gateway_that_protection_would_alter_ends_the_task() -> None:
    detail = {"type": "reasoning.text", "text": f"口令是 {CREDENTIAL}"}

    with pytest.raises(Refused, match="protection_altered_thinking"):
        record_turn(read({"reasoning_details": [detail], "tool_calls": [call()]}))


@pytest.mark.parametrize("name", CIPHERTEXT)
def test_a_long_signature_is_not_taken_for_a_text(name: str) -> None:
    value = "AY89a18IwQsQ8in/" * 200

    record_turn(read({"tool_calls": [call(extra_content={name: value})]}))


def test_fields_that_are_too_long_to_keep_are_refused() -> None:
    with pytest.raises(Refused, match="model_answer_too_large"):
        read({"tool_calls": [call(extra_content={"signature": "x" * 1_100_000})]})


def test_fields_of_one_interface_are_never_sent_over_the_other(path: Path) -> None:
    turn = read({"tool_calls": [call(extra_content=SIGNATURE)]})
    with Database.open(path) as db:
        session = Session(db, begin_task(db).id)
        session.open()
        for one in session.take(turn):
            session.answer(one, "ok")
        body = AnthropicApi(SETTINGS).encode(session.conversation(), (RUN,))

    assert b"c2lnbmF0dXJl" not in body


def test_what_the_provider_wants_back_is_in_no_text_that_is_shown() -> None:
    turn = read({"tool_calls": [call(extra_content=SIGNATURE)]})
    recorded = record_turn(turn)

    assert "c2lnbmF0dXJl" not in repr(turn)
    assert "c2lnbmF0dXJl" not in repr(recorded)
    assert "c2lnbmF0dXJl" not in recorded.event.body.content
    assert "c2lnbmF0dXJl" in (recorded.event.opaque or b"").decode()
