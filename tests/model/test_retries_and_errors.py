"""Which failures are repeated, how long they wait, and what the others are called."""

import json
from collections.abc import Callable
from email.utils import formatdate
from time import time

import pytest

from perlica.clients.model.anthropic import AnthropicClient
from perlica.clients.model.attempt_failure import (
    AttemptFailure,
    choose_wait_s,
    read_retry_after_s,
    run_attempts,
)
from perlica.clients.model.contract import ModelClient, ModelTurn
from perlica.clients.model.openai import OpenAiClient
from perlica.clients.model.settings import ModelSettings
from perlica.domain.cancel import CancelToken
from perlica.domain.errors import Misconfigured, PerlicaError, Refused, Retryable
from tests.model.server import Answer, Json, RawServer, break_off, stream, whole
from tests.model.words import DONE, QUESTION, delta, settings

GOOD = stream(delta(content="a"), delta("stop"), DONE)
SECRET = "sk-a1b2c3d4e5f6g7h8i9j0k1l2m3n4o5p6"


def complete(
    *answers: Answer, client: Callable[[ModelSettings], ModelClient] = OpenAiClient, **changes: Json
) -> tuple[ModelTurn, int]:
    """The turn after all attempts, and how many requests there were."""
    with RawServer(*answers) as server:
        opened = client(settings(server.url, **{"max_attempts": 4, **changes}))
        try:
            return opened.complete(QUESTION, (), CancelToken()), len(server.requests)
        finally:
            opened.close()
            complete.requests = len(server.requests)  # type: ignore[attr-defined]


def refuse(status: str, body: object = None, **headers: str) -> Answer:
    return whole(body or {"error": {"message": f"the key {SECRET} …"}}, status, **headers)


@pytest.mark.parametrize("status", [408, 409, 425, 429, 500, 502, 503, 504, 529, 520])
def test_what_may_pass_is_tried_again(status: int) -> None:
    turn, requests = complete(refuse(f"{status} No"), refuse(f"{status} No"), GOOD)

    assert (turn.text, turn.attempts, requests) == ("a", 3, 3)


@pytest.mark.parametrize(
    ("status", "kind"),
    [
        (400, Refused),
        (401, Misconfigured),
        (402, Misconfigured),
        (403, Misconfigured),
        (404, Misconfigured),
        (413, Refused),
        (422, Refused),
        (418, Refused),
        (301, Misconfigured),
        (307, Misconfigured),
    ],
)
def test_what_will_not_pass_is_not_tried_again(status: int, kind: type[PerlicaError]) -> None:
    with pytest.raises(kind):
        complete(refuse(f"{status} No", Location="http://127.0.0.1:9/elsewhere"), GOOD)

    assert complete.requests == 1  # type: ignore[attr-defined]


def test_a_dropped_stream_is_tried_again_and_nothing_of_it_is_kept() -> None:
    turn, requests = complete(break_off(delta(content="half")), GOOD)

    assert (turn.text, requests) == ("a", 2)


def test_a_dropped_connection_is_tried_again() -> None:
    turn, requests = complete(lambda talk: talk.conn.close(), GOOD)

    assert (turn.text, requests) == ("a", 2)


def test_four_attempts_are_the_end() -> None:
    with pytest.raises(Retryable, match=r"model_overloaded.*attempt 4 of 4"):
        complete(refuse("503 No"))

    assert complete.requests == 4  # type: ignore[attr-defined]


def test_a_wait_that_would_pass_the_total_deadline_is_not_begun() -> None:
    with pytest.raises(Retryable, match="model_rate_limited"):
        complete(refuse("429 No", Retry_After="3600"))

    assert complete.requests == 1  # type: ignore[attr-defined]


def test_the_wait_is_full_jitter_and_never_shorter_than_the_server_asks() -> None:
    limits = settings("http://127.0.0.1:1", backoff_base_s=1.0)
    for number, most_s in ((1, 1.0), (2, 2.0), (3, 4.0), (9, 30.0)):
        waits = [choose_wait_s(number, AttemptFailure("c", "t"), limits) for _ in range(200)]
        assert 0 <= min(waits) < max(waits) <= most_s
        assert max(waits) > most_s / 2
    asked = [choose_wait_s(1, AttemptFailure("c", "t", wait_s=7.5), limits) for _ in range(50)]

    assert set(asked) == {7.5}


def test_a_dead_kept_connection_is_replaced_without_a_wait() -> None:
    limits = settings("http://127.0.0.1:1", backoff_base_s=30.0)

    assert choose_wait_s(1, AttemptFailure("c", "t", is_stale=True), limits) == 0.0
    assert choose_wait_s(2, AttemptFailure("c", "t", wait_s=1.0, is_stale=True), limits) >= 1.0


@pytest.mark.parametrize(
    ("headers", "expected"),
    [
        ({}, None),
        ({"retry-after": "2"}, 2.0),
        ({"retry-after": "0.5"}, 0.5),
        ({"retry-after-ms": "1500", "retry-after": "9"}, 1.5),
        ({"retry-after": "-1"}, None),
        ({"retry-after": "nan"}, None),
        ({"retry-after": "inf"}, None),
        ({"retry-after": "soon"}, None),
    ],
)
def test_retry_after_is_read_in_all_its_forms(
    headers: dict[str, str], expected: float | None
) -> None:
    assert read_retry_after_s(headers) == expected


def test_retry_after_may_be_a_date() -> None:
    waits_s = read_retry_after_s({"retry-after": formatdate(time() + 30, usegmt=True)})

    assert waits_s is not None
    assert 25 < waits_s <= 31
    assert read_retry_after_s({"retry-after": formatdate(time() - 30, usegmt=True)}) == 0.0


def test_attempts_stop_when_the_total_time_is_used_up() -> None:
    numbers = []

    def attempt(number: int, give_up_at_s: float) -> None:
        numbers.append(number)
        raise AttemptFailure("c", "t", wait_s=0.02)

    limits = settings("http://127.0.0.1:1", total_s=0.05, max_attempts=1000)
    with pytest.raises(Retryable):
        run_attempts(attempt, limits, CancelToken())

    assert 1 <= len(numbers) <= 4


@pytest.mark.parametrize(
    ("status", "message", "code"),
    [
        (400, "This model's maximum context length is 65536 tokens", "model_context_too_long"),
        (400, "prompt is too long: 210000 tokens > 200000 maximum", "model_context_too_long"),
        (400, "Content Exists Risk", "model_content_refused"),
        (400, "data_inspection_failed", "model_content_refused"),
        (
            400,
            "The reasoning_content in the thinking mode must be passed back to the API",
            "model_dialect",
        ),
        (
            400,
            "thinking is enabled but reasoning_content is missing in assistant tool call message",
            "model_dialect",
        ),
        (400, "Unsupported parameter: use 'max_completion_tokens'", "model_max_tokens_field"),
        (400, "Model Not Exist", "model_name"),
        (400, "Your credit balance is too low", "model_balance"),
        (400, "something else", "model_request_refused"),
        (401, "Invalid Authentication", "model_key_rejected"),
        (402, "Insufficient Balance", "model_balance"),
        (403, "limit", "model_forbidden"),
        (404, "not found", "model_not_found"),
        (413, "too large", "model_request_too_large"),
        (422, "bad", "model_request_refused"),
        (429, "exceeded_current_quota_error", "model_balance"),
        (429, "insufficient_quota", "model_balance"),
    ],
)
def test_a_refusal_has_a_code_that_says_what_to_change(
    status: int, message: str, code: str
) -> None:
    with pytest.raises((Refused, Misconfigured)) as caught:
        complete(refuse(f"{status} No", {"error": {"message": message}}), GOOD)

    assert caught.value.code == code
    assert complete.requests == 1  # type: ignore[attr-defined]


def test_the_overload_429_of_kimi_is_tried_again_and_the_quota_429_is_not() -> None:
    overloaded = refuse("429 No", {"error": {"type": "engine_overloaded_error"}})

    turn, requests = complete(overloaded, GOOD)

    assert (turn.text, requests) == ("a", 2)


def test_a_429_of_anthropic_without_retry_after_is_a_spend_limit() -> None:
    with pytest.raises(Misconfigured, match="model_spend_limit"):
        complete(refuse("429 No"), GOOD, client=AnthropicClient)

    assert complete.requests == 1  # type: ignore[attr-defined]


@pytest.mark.parametrize("status", [400, 401, 403, 404, 429, 500])
def test_the_providers_words_never_get_into_an_error(status: int) -> None:
    with pytest.raises(PerlicaError) as caught:
        complete(refuse(f"{status} {SECRET}"), max_attempts=1)

    chain: list[BaseException | None] = [caught.value]
    while (last := chain[-1]) is not None:
        chain.append(last.__cause__ or last.__context__)
    assert SECRET not in "".join(f"{error!r} {error}" for error in chain)


def test_a_web_page_instead_of_an_api_is_named() -> None:
    page = whole(b"<html>login</html>", Content_Type="text/html; charset=utf-8")

    with pytest.raises(Misconfigured, match="model_no_api"):
        complete(page)


def test_a_compressed_answer_is_refused_and_not_inflated() -> None:
    with pytest.raises(Misconfigured, match="model_encoded_answer"):
        complete(whole(b"\x1f\x8b\x08", Content_Encoding="gzip"))


def test_a_server_that_is_not_there_is_unreachable() -> None:
    with RawServer(GOOD) as server:
        url = server.url
    client = OpenAiClient(settings(url))

    with pytest.raises(Retryable, match="model_connection_refused"):
        client.complete(QUESTION, (), CancelToken())


def test_nothing_of_the_conversation_or_the_key_shows_in_a_repr() -> None:
    limits = ModelSettings(base_url="https://api.example.com", model="m", key=lambda: SECRET)
    turn = ModelTurn(text=SECRET, calls=(), finish="stop", input_tokens=1, output_tokens=1)  # type: ignore[arg-type]

    assert SECRET not in repr(limits)
    assert SECRET not in repr(turn) + repr(QUESTION)
    assert "规则" not in repr(QUESTION)


def test_errors_are_json_free() -> None:
    with pytest.raises(Refused) as caught:
        complete(refuse("400 No", {"error": {"message": json.dumps({"a": 1})}}))

    assert "{" not in str(caught.value)
