"""Each way in which a model's service fails has a reason of its own, told in words of ours."""

import json
import socket
import ssl
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from perlica.clients.model.openai import OpenAiClient
from perlica.domain.cancel import CancelToken
from perlica.domain.errors import PerlicaError
from perlica.domain.ids import TaskId
from perlica.domain.task import EndReason, TaskState
from perlica.domain.texts import Language
from perlica.domain.texts.models import TROUBLES
from perlica.domain.texts.notices import say_ended
from perlica.runtimes.contract import find_end_reason
from tests.model.server import Answer, RawServer, Talk, stream, whole
from tests.model.words import DONE, QUESTION, delta, settings

PROVIDER = "org-7f3a says no"


def reason_of(url: str, **changes: object) -> EndReason:
    """Why a task ends whose model is at this address."""
    client = OpenAiClient(settings(url, **changes))
    try:
        with pytest.raises(PerlicaError) as caught:
            client.complete(QUESTION, (), CancelToken())
    finally:
        client.close()
    assert PROVIDER not in str(caught.value)
    return find_end_reason(caught.value)


def refuse(status: int, message: str = PROVIDER, **error: object) -> Answer:
    return whole({"error": {"message": f"{message} {PROVIDER}", **error}}, f"{status} No")


@pytest.mark.parametrize(
    ("answer", "reason"),
    [
        (refuse(401), EndReason.model_key),
        (refuse(402), EndReason.model_balance),
        (refuse(403), EndReason.model_forbidden),
        (refuse(403, code="insufficient_user_quota"), EndReason.model_balance),
        (refuse(404), EndReason.model_unknown),
        (refuse(400, code="model_not_found"), EndReason.model_unknown),
        (refuse(413), EndReason.model_input_too_long),
        (refuse(400, code="context_length_exceeded"), EndReason.model_input_too_long),
        (refuse(429), EndReason.model_rate_limited),
        (refuse(429, code="insufficient_quota"), EndReason.model_balance),
        (refuse(429, code="1113"), EndReason.model_balance),
        (refuse(429, type="engine_overloaded_error"), EndReason.model_overloaded),
        (refuse(500), EndReason.model_server_error),
        (refuse(502), EndReason.model_server_error),
        (refuse(503), EndReason.model_overloaded),
        (refuse(529), EndReason.model_overloaded),
        (refuse(400, "Content Exists Risk"), EndReason.model_filtered),
        (refuse(400), EndReason.model_refused),
        (refuse(400, "reasoning_content must be passed back"), EndReason.model_settings),
        (refuse(302), EndReason.model_settings),
        (whole(b"<html>", Content_Type="text/html"), EndReason.model_bad_answer),
        (stream(b"data: nonsense\n\n"), EndReason.model_bad_answer),
        (stream(delta("something_new"), DONE), EndReason.model_bad_answer),
        (stream(delta(content="half")), EndReason.incomplete_answer),
        (lambda talk: talk.conn.close(), EndReason.model_unreachable),
    ],
)
def test_every_failure_is_told_by_its_own_reason(answer: Answer, reason: EndReason) -> None:
    with RawServer(answer) as server:
        assert reason_of(server.url) is reason


def test_a_server_that_is_silent_missed_its_time() -> None:
    def hang(talk: Talk) -> None:
        talk.wait_until_gone()

    with RawServer(hang) as server:
        assert reason_of(server.url, first_token_s=0.2) is EndReason.model_timeout


@contextmanager
def closed_port() -> Iterator[str]:
    with socket.create_server(("127.0.0.1", 0)) as held:
        port = held.getsockname()[1]
    yield f"http://127.0.0.1:{port}/v1"


def test_a_port_where_nobody_listens_refuses_the_connection() -> None:
    with closed_port() as url:
        assert reason_of(url) is EndReason.model_connection_refused


def test_a_name_that_does_not_exist_is_a_matter_of_dns() -> None:
    assert reason_of("https://no-such-host.invalid/v1") is EndReason.model_dns


@contextmanager
def plain_server() -> Iterator[str]:
    """A server that answers in plain text whatever comes."""
    with socket.create_server(("127.0.0.1", 0)) as listening:

        def answer() -> None:
            conn, _ = listening.accept()
            with conn:
                conn.recv(4_096)
                conn.sendall(b"HTTP/1.1 400 Bad Request\r\nContent-Length: 0\r\n\r\n")

        thread = threading.Thread(target=answer)
        thread.start()
        yield f"https://127.0.0.1:{listening.getsockname()[1]}/v1"
        thread.join(10)


def test_a_server_without_tls_and_one_that_nobody_trusts_are_a_matter_of_tls(
    tls: tuple[ssl.SSLContext, Path],
) -> None:
    context, _ = tls
    with plain_server() as url:
        assert reason_of(url) is EndReason.model_tls
    with RawServer(stream(DONE), context=context) as untrusted:
        assert reason_of(untrusted.url) is EndReason.model_tls


def test_a_missing_key_file_is_a_matter_of_the_key(tmp_path: Path) -> None:
    with closed_port() as url:
        assert reason_of(url, key_file=tmp_path / "none") is EndReason.model_key


@pytest.mark.parametrize("language", Language)
def test_no_two_troubles_are_told_in_the_same_words(language: Language) -> None:
    said = [
        say_ended(
            task=TaskId("t_1"), state=TaskState.failed, reason=reason.value, language=language
        )
        for reason in TROUBLES
    ]

    assert len(set(said)) == len(TROUBLES)
    for line, trouble in zip(said, TROUBLES.values(), strict=True):
        assert trouble.what.say(language) in line


def test_a_body_that_is_an_error_of_the_provider_is_never_repeated_by_the_probe() -> None:
    with RawServer(refuse(401)) as server:
        client = OpenAiClient(settings(server.url))
        (finding,) = client.probe(CancelToken())
        client.close()

    assert finding.code == "model_key_rejected"
    assert PROVIDER not in json.dumps([finding.text, finding.remedy])
