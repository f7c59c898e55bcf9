"""Every row of the model's tables, walked: a row that is added cannot be forgotten."""

import json
import re
from collections.abc import Callable
from pathlib import Path

import pytest

import perlica.clients.model
from perlica.clients.model.anthropic import AnthropicReader
from perlica.clients.model.attempt_failure import AttemptFailure
from perlica.clients.model.contract import Finish
from perlica.clients.model.drafts import TurnReader
from perlica.clients.model.error_mapping import judge_status, judge_stream_error
from perlica.clients.model.errors import (
    BY_STATUS,
    ERRORS,
    MEANINGS,
    TRUER,
    ErrorRow,
    Where,
)
from perlica.clients.model.finishes import FINISHES, NOT_YET, FinishRow
from perlica.clients.model.marks import FRAME_MARKS, THINK_MARKS, FrameMark, ThinkMark
from perlica.clients.model.openai import OpenAiReader
from perlica.clients.model.sse import ServerEvent
from perlica.clients.model.thinking_text import strip_thinking
from perlica.clients.model.wanted_back import WANTED_BACK
from perlica.domain.errors import PerlicaError
from perlica.domain.task import EndReason
from perlica.domain.texts import Language
from perlica.domain.texts.models import REASON_OF, TROUBLES
from perlica.domain.texts.notices import REASONS
from perlica.runtimes.call_marks import CALL_MARKS, CallMark
from perlica.runtimes.calls_in_text import is_call_in_text
from perlica.runtimes.opaque import CIPHERTEXT
from tests.model.words import settings

SETTINGS = settings("http://127.0.0.1:1/v1")
CONFIDENTIAL = "what the provider repeats"
OURS = re.compile(r'"(model_[a-z_]+)"')
NOT_FAILURES = {"model_answers", "model_usage_estimated", "model_not_supported"}


def openai_end(word: str) -> TurnReader:
    reader = OpenAiReader(SETTINGS)
    choice = {"index": 0, "delta": {"content": "443"}, "finish_reason": word}
    reader.take(ServerEvent(name="", data=json.dumps({"choices": [choice]})))
    return reader


def anthropic_end(word: str) -> TurnReader:
    reader = AnthropicReader(SETTINGS)
    body = {"type": "message_delta", "delta": {"stop_reason": word}}
    reader.take(ServerEvent(name="", data=json.dumps(body)))
    return reader


def spellings(word: str) -> tuple[str, ...]:
    return (
        word,
        word.upper(),
        f" {word}\n",
        word.replace("_", "-"),
        f"FinishReason.{word.upper()}",
    )


@pytest.mark.parametrize("end", [openai_end, anthropic_end])
@pytest.mark.parametrize("row", FINISHES, ids=lambda row: row.word)
def test_every_spelling_of_an_end_is_understood_over_both_interfaces(
    row: FinishRow, end: Callable[[str], TurnReader]
) -> None:
    for word in spellings(row.word):
        if row.finish is None:
            with pytest.raises(AttemptFailure) as caught:
                end(word)
            assert caught.value.code == "model_bad_finish"
        else:
            assert end(word).draft.finish is row.finish


@pytest.mark.parametrize("word", NOT_YET)
def test_a_placeholder_for_an_end_is_no_end(word: str) -> None:
    assert openai_end(word).draft.finish is None
    assert openai_end(word.upper()).draft.finish is None


def test_every_way_to_end_has_a_spelling_and_every_row_names_its_source() -> None:
    assert {row.finish for row in FINISHES} == {*Finish, None}
    assert len({row.word for row in FINISHES}) == len(FINISHES)
    sources = [
        *(row.source for row in FINISHES),
        *(row.source for row in ERRORS),
        *(row.source for row in CALL_MARKS),
        *(row.source for row in THINK_MARKS),
        *(row.source for row in FRAME_MARKS),
        *(row.source for row in WANTED_BACK),
        *NOT_YET.values(),
        *CIPHERTEXT.values(),
    ]
    assert all(sources)


def said(row: ErrorRow) -> object:
    """A provider's error that says what the row names."""
    match row.where:
        case Where.code:
            return {"error": {"code": row.saying, "message": CONFIDENTIAL}}
        case Where.base_resp:
            return {"base_resp": {"status_code": int(row.saying), "status_msg": CONFIDENTIAL}}
        case Where.words:
            return {"error": {"message": f"<400> {row.saying.upper()} {CONFIDENTIAL}"}}


def meaning_of(status: int, body: object) -> str:
    raw = json.dumps(body, ensure_ascii=False).encode()
    with pytest.raises((PerlicaError, AttemptFailure)) as caught:
        judge_status(status, {"retry-after": "1"}, raw, needs_retry_after=False)
    assert isinstance(caught.value, PerlicaError | AttemptFailure)
    return caught.value.code


@pytest.mark.parametrize("row", ERRORS, ids=lambda row: f"{row.where}-{row.saying}")
def test_every_saying_of_a_provider_is_understood_where_it_stands(row: ErrorRow) -> None:
    body = said(row)

    assert meaning_of(400, body) == row.means
    assert meaning_of(429, body) == row.means
    with pytest.raises((PerlicaError, AttemptFailure)) as caught:
        judge_stream_error(body)
    assert getattr(caught.value, "code", "") == row.means
    assert CONFIDENTIAL not in str(caught.value)


@pytest.mark.parametrize("status", BY_STATUS)
def test_a_status_speaks_for_itself_unless_the_provider_says_something_truer(status: int) -> None:
    code, _ = BY_STATUS[status]

    assert meaning_of(status, {"error": {"message": "no"}}) == code
    for row in ERRORS:
        wanted = row.means if row.means in TRUER[status] else code
        assert meaning_of(status, said(row)) == wanted


@pytest.mark.parametrize("status", [500, 502, 503, 504, 529])
def test_a_fault_of_the_server_is_its_own_unless_the_conversation_is_too_long(status: int) -> None:
    usual = "model_overloaded" if status in {503, 529} else "model_server_error"

    for row in ERRORS:
        may_pass = MEANINGS[row.means].kind is None
        is_truer = may_pass or row.means == "model_context_too_long"
        assert meaning_of(status, said(row)) == (row.means if is_truer else usual)


def test_a_number_in_a_message_is_not_taken_for_a_code() -> None:
    assert meaning_of(400, {"error": {"message": "request 1113 of 1301"}}) == (
        "model_request_refused"
    )


def test_a_spend_limit_of_anthropic_calls_itself_a_rate_limit_and_names_no_wait() -> None:
    body = json.dumps({"type": "error", "error": {"type": "rate_limit_error"}}).encode()

    with pytest.raises(PerlicaError, match="model_spend_limit"):
        judge_status(429, {}, body, needs_retry_after=True)
    with pytest.raises(AttemptFailure) as caught:
        judge_status(429, {"retry-after": "7"}, body, needs_retry_after=True)
    assert (caught.value.code, caught.value.wait_s) == ("model_rate_limited", 7)


def test_a_rate_limit_that_speaks_of_billing_is_a_rate_limit() -> None:
    body = {
        "error": {
            "code": "rate_limit_exceeded",
            "message": "Rate limit reached. Need more? See /settings/billing",
        }
    }

    assert meaning_of(429, body) == "model_rate_limited"


@pytest.mark.parametrize("mark", CALL_MARKS, ids=lambda mark: mark.example)
def test_every_mark_of_a_call_written_as_text_is_found_if_it_names_a_tool(mark: CallMark) -> None:
    text = f"看一下。\n{mark.example}\n"

    assert re.search(mark.pattern, text, re.MULTILINE)
    assert is_call_in_text(f"{text}sandbox_exec", ["sandbox_exec"])
    # A mark that says itself what is to be called needs no tool of ours beside it.
    calls_something = re.search(r'invoke name="x"|to=functions\.x', mark.example) is not None
    assert is_call_in_text(text, ["sandbox_exec"]) is calls_something


@pytest.mark.parametrize("mark", THINK_MARKS, ids=lambda mark: mark.opening)
def test_every_mark_of_thinking_takes_the_thinking_away(mark: ThinkMark) -> None:
    thought = f"{mark.opening}先想想。{mark.closing}"

    assert strip_thinking(f"{thought}443") == "443"
    assert strip_thinking(f"\n{thought}\n\n{thought}\n443").strip() == "443"
    assert strip_thinking(f"端口是：\n{thought}\n443") == "端口是：\n\n443"
    assert strip_thinking(f"{mark.opening}先想想。") == ""
    assert strip_thinking(f"端口是 443。\n{mark.opening}再想想") == "端口是 443。"


@pytest.mark.parametrize(
    "mark",
    [mark for mark in THINK_MARKS if mark.closing != "<|end|>"],
    ids=lambda mark: mark.closing,
)
def test_thinking_that_was_opened_in_the_prompt_is_no_answer(mark: ThinkMark) -> None:
    assert strip_thinking(f"先想想。\n{mark.closing}\n\n443") == "443"
    assert strip_thinking(f"先想想。{mark.closing}\n443") == "443"


@pytest.mark.parametrize("mark", THINK_MARKS, ids=lambda mark: mark.opening)
def test_a_mark_that_the_answer_speaks_of_stays(mark: ThinkMark) -> None:
    for text in (
        f"用 `{mark.opening}` 和 `{mark.closing}` 包起来",
        f"```\n{mark.opening}\nx\n{mark.closing}\n```",
    ):
        assert strip_thinking(text) == text


@pytest.mark.parametrize("frame", FRAME_MARKS, ids=lambda frame: frame.mark)
def test_signs_of_the_chat_template_are_no_part_of_an_answer(frame: FrameMark) -> None:
    text = f"{frame.mark}443" if frame.at_start else f"443{frame.mark}"

    assert strip_thinking(text) == "443"


def test_a_whole_answer_in_the_harmony_format_is_the_answer_alone() -> None:
    text = (
        "<|channel|>analysis<|message|>先想想。<|end|>"
        "<|start|>assistant<|channel|>final<|message|>443<|return|>"
    )

    assert strip_thinking(text) == "443"


@pytest.mark.parametrize(
    "text",
    ["<think></think>" * 60_000, "a\n<think>x</think>" * 50_000, "443" + "<|im_end|>" * 90_000],
)
def test_a_flood_of_marks_is_read_in_bounded_time(text: str) -> None:
    assert len(strip_thinking(text)) <= len(text)


def test_every_code_of_the_model_has_a_reason_that_members_and_operators_can_read() -> None:
    folder = Path(perlica.clients.model.__file__).parent
    tables = {"errors.py", "finishes.py"}
    codes = set(MEANINGS) | {code for code, _ in BY_STATUS.values()}
    for file in folder.glob("*.py"):
        if file.name not in tables:
            codes |= set(OURS.findall(file.read_text()))
    deadlines = {f"model_{cut}_deadline" for cut in ("connect", "first_token", "between_tokens")}
    codes |= deadlines | {"model_attempt_deadline"}

    assert codes - NOT_FAILURES == set(REASON_OF)
    for reason in REASON_OF.values():
        assert reason in REASONS
        assert reason in TROUBLES or reason is EndReason.too_large
    for trouble in TROUBLES.values():
        for language in Language:
            assert trouble.what.say(language)
            assert trouble.remedy.say(language)
