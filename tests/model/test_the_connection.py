"""How the model's server is reached: key, certificates, kept connections, what is never done."""

import json
import socket
import ssl
from pathlib import Path

import pytest

from perlica.clients.model.anthropic import AnthropicClient
from perlica.clients.model.contract import ProbeFinding
from perlica.clients.model.openai import OpenAiClient
from perlica.clients.model.opening import open_client
from perlica.clients.model.settings import MAX_KEY_BYTES, Api, Dialect, ModelSettings
from perlica.conversation import UserMessage
from perlica.domain.cancel import CancelToken
from perlica.domain.errors import Misconfigured, Refused, Retryable
from perlica.protection import not_scanned
from tests.model.server import Answer, Json, RawServer, Talk, encode_event, stream, whole
from tests.model.words import DONE, QUESTION, delta, settings, usage

GOOD = stream(delta(content="a"), delta("stop"), DONE)


def test_connections_are_kept_for_the_next_turn() -> None:
    with RawServer(GOOD) as server:
        client = OpenAiClient(settings(server.url))
        for _ in range(3):
            client.complete(QUESTION, (), CancelToken())
        client.close()

        assert (server.connections, len(server.requests)) == (1, 3)


def test_connections_that_nobody_used_for_long_are_not_used_again() -> None:
    with RawServer(GOOD) as server:
        client = OpenAiClient(settings(server.url, reuse_idle_s=1e-6))
        for _ in range(2):
            client.complete(QUESTION, (), CancelToken())
        client.close()

        assert server.connections == 2


def test_a_kept_connection_that_died_costs_one_silent_attempt() -> None:
    def close_after_reading(talk: Talk) -> None:
        talk.conn.shutdown(socket.SHUT_RDWR)

    with RawServer(GOOD, close_after_reading, GOOD) as server:
        client = OpenAiClient(settings(server.url, max_attempts=2, backoff_base_s=30.0, total_s=60))
        client.complete(QUESTION, (), CancelToken())

        turn = client.complete(QUESTION, (), CancelToken())
        client.close()

        assert (turn.text, turn.attempts) == ("a", 2)


def test_an_answer_that_ends_with_the_connection_is_read() -> None:
    def answer(talk: Talk) -> None:
        talk.send_head(Content_Type="text/event-stream", Connection="close")
        talk.send(delta(content="a") + delta("stop") + DONE)
        talk.conn.shutdown(socket.SHUT_RDWR)

    with RawServer(answer) as server:
        client = OpenAiClient(settings(server.url))

        assert client.complete(QUESTION, (), CancelToken()).text == "a"
        assert client.complete(QUESTION, (), CancelToken()).text == "a"
        client.close()


def test_a_server_that_stays_silent_after_its_finish_is_not_waited_for_long() -> None:
    def answer(talk: Talk) -> None:
        talk.send_head(Content_Type="text/event-stream", Transfer_Encoding="chunked")
        talk.send_chunk(delta(content="a") + delta("stop") + usage(1, 1) + DONE)
        talk.wait_until_gone()

    with RawServer(answer) as server:
        client = OpenAiClient(settings(server.url))

        turn = client.complete(QUESTION, (), CancelToken())
        client.close()

        assert (turn.text, turn.usage_is_estimate) == ("a", False)


def test_redirects_are_not_followed_and_their_body_is_not_read() -> None:
    def answer(talk: Talk) -> None:
        talk.send_head("307 Temporary Redirect", Location="/elsewhere", Content_Length=str(10**12))
        talk.send(b"x" * 100_000)
        talk.wait_until_gone()

    with RawServer(answer) as server:
        client = OpenAiClient(settings(server.url))

        with pytest.raises(Misconfigured, match="model_redirected"):
            client.complete(QUESTION, (), CancelToken())
        client.close()

        assert len(server.requests) == 1


def test_environment_and_netrc_have_no_say(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    netrc = tmp_path / "netrc"
    netrc.write_text("machine 127.0.0.1 login a password b\n")
    netrc.chmod(0o600)
    for name in ("http_proxy", "HTTP_PROXY", "https_proxy", "all_proxy"):
        monkeypatch.setenv(name, "http://127.0.0.1:9")
    monkeypatch.setenv("NETRC", str(netrc))
    monkeypatch.delenv("no_proxy", raising=False)

    with RawServer(GOOD) as server:
        client = OpenAiClient(settings(server.url))
        client.complete(QUESTION, (), CancelToken())
        client.close()

        assert "authorization" not in server.requests[0].headers


def test_cookies_are_not_kept() -> None:
    def answer(talk: Talk) -> None:
        talk.send_head(Content_Type="text/event-stream", Set_Cookie="a=b", Connection="close")
        talk.send(delta(content="a") + delta("stop") + DONE)
        talk.conn.shutdown(socket.SHUT_RDWR)

    with RawServer(answer) as server:
        client = OpenAiClient(settings(server.url))
        for _ in range(2):
            client.complete(QUESTION, (), CancelToken())
        client.close()

        assert "cookie" not in server.requests[1].headers


def test_the_key_is_read_anew_for_each_request(tmp_path: Path) -> None:
    key = tmp_path / "key"
    key.write_text("first\n")
    with RawServer(GOOD) as server:
        client = OpenAiClient(settings(server.url, key_file=key))
        client.complete(QUESTION, (), CancelToken())
        key.write_text("second\n")
        client.complete(QUESTION, (), CancelToken())
        client.close()

        sent = [request.headers["authorization"] for request in server.requests]
    assert sent == ["Bearer first", "Bearer second"]


@pytest.mark.parametrize(
    "content", ["", "two words", "two\nlines", "clé", "x" * (MAX_KEY_BYTES + 1)]
)
def test_a_key_that_is_none_is_named_and_never_sent(tmp_path: Path, content: str) -> None:
    key = tmp_path / "key"
    key.write_text(content)
    with RawServer(GOOD) as server:
        client = OpenAiClient(settings(server.url, key_file=key))

        with pytest.raises(Misconfigured, match="model_key_malformed"):
            client.complete(QUESTION, (), CancelToken())

        assert server.connections == 0


def test_a_missing_key_file_is_named_without_its_content(tmp_path: Path) -> None:
    limits = settings("http://127.0.0.1:1", key_file=tmp_path / "none")

    with pytest.raises(Misconfigured, match="model_key_unreadable"):
        limits.read_key()


def test_tls_is_verified_against_the_configured_authority(
    tls: tuple[ssl.SSLContext, Path],
) -> None:
    with RawServer(GOOD, context=tls[0]) as server:
        client = OpenAiClient(settings(server.url, ca_file=tls[1]))
        for _ in range(2):
            assert client.complete(QUESTION, (), CancelToken()).text == "a"
        client.close()

        assert server.connections == 1


def test_a_certificate_that_nobody_trusts_is_a_misconfiguration(
    tls: tuple[ssl.SSLContext, Path],
) -> None:
    with RawServer(GOOD, context=tls[0]) as server:
        client = OpenAiClient(settings(server.url))

        with pytest.raises(Misconfigured, match="model_tls_untrusted"):
            client.complete(QUESTION, (), CancelToken())


def test_a_certificate_for_another_name_is_a_misconfiguration(
    tls: tuple[ssl.SSLContext, Path],
) -> None:
    with RawServer(GOOD, context=tls[0]) as server:
        url = server.url.replace("127.0.0.1", "localhost")
        client = OpenAiClient(settings(url, ca_file=tls[1]))

        with pytest.raises(Misconfigured, match="model_tls_untrusted"):
            client.complete(QUESTION, (), CancelToken())


def test_a_name_is_looked_up() -> None:
    with RawServer(GOOD) as server:
        client = OpenAiClient(settings(server.url.replace("127.0.0.1", "localhost")))

        assert client.complete(QUESTION, (), CancelToken()).text == "a"
        client.close()


@pytest.mark.parametrize("name", ["no-such-host.invalid", "x" * 64 + ".example"])
def test_a_name_that_cannot_be_looked_up_is_unreachable(name: str) -> None:
    client = OpenAiClient(settings(f"https://{name}/v1"))

    with pytest.raises(Retryable, match="model_dns"):
        client.complete(QUESTION, (), CancelToken())


@pytest.mark.parametrize(
    ("api", "kind"), [("openai", OpenAiClient), ("anthropic", AnthropicClient)]
)
def test_the_settings_choose_the_api(api: str, kind: type[object]) -> None:
    client = open_client(settings("http://127.0.0.1:1", api=Api(api)))

    assert type(client) is kind


@pytest.mark.evidence(6)
def test_a_text_that_was_not_scanned_to_its_end_is_never_sent() -> None:
    with RawServer(GOOD) as server:
        client = OpenAiClient(settings(server.url))

        with pytest.raises(Refused, match="protection_incomplete"):
            client.complete((UserMessage(content=not_scanned()),), (), CancelToken())

        assert server.connections == 0


@pytest.mark.parametrize(
    "changes",
    [
        {"base_url": "ftp://x"},
        {"base_url": "https://"},
        {"base_url": "http://api.example.com/v1"},
        {"base_url": "https://user:pass@api.example.com"},
        {"base_url": "https://api.example.com/?key=1"},
        {"model": ""},
        {"total_s": float("inf")},
        {"total_s": float("nan")},
        {"connect_s": 0},
        {"max_attempts": 0},
        {"extra_body": {"messages": []}},
        {"extra_body": {"stream": False}},
    ],
)
def test_settings_that_could_never_work_are_refused(changes: dict[str, Json]) -> None:
    with pytest.raises(Misconfigured, match="model_settings"):
        ModelSettings(**{"base_url": "https://api.example.com", "model": "m", **changes})


@pytest.mark.parametrize(
    ("url", "dialect", "field"),
    [
        ("https://api.deepseek.com", Dialect.deepseek, "max_tokens"),
        ("https://api.moonshot.cn/v1", Dialect.kimi, "max_completion_tokens"),
        ("https://api.openai.com/v1", Dialect.auto, "max_completion_tokens"),
        ("https://deepseek.com.example.org/v1", Dialect.auto, "max_tokens"),
        ("http://[::1]:8000/v1", Dialect.auto, "max_tokens"),
    ],
)
def test_known_servers_are_known_by_their_name(url: str, dialect: Dialect, field: str) -> None:
    limits = ModelSettings(base_url=url, model="m")

    assert (limits.effective_dialect, limits.effective_max_tokens_field) == (dialect, field)


def probe(answer: Answer, **changes: Json) -> tuple[ProbeFinding, ...]:
    with RawServer(answer) as server:
        client = OpenAiClient(settings(server.url, **changes))
        try:
            return client.probe(CancelToken())
        finally:
            client.close()


def test_the_probe_says_that_the_model_answers() -> None:
    findings = probe(stream(delta(content="OK"), delta("stop"), usage(3, 1), DONE))

    assert [(f.is_good, f.code) for f in findings] == [(True, "model_answers")]


def test_the_probe_says_that_usage_is_missing() -> None:
    assert [f.code for f in probe(GOOD)] == ["model_answers", "model_usage_estimated"]


@pytest.mark.parametrize(
    ("answer", "code"),
    [
        (whole({}, "401 No"), "model_key_rejected"),
        (whole({}, "503 No"), "model_overloaded"),
        (stream(encode_event({"error": {}})), "model_stream_cut"),
    ],
)
def test_the_probe_tells_what_is_wrong_and_asks_once(answer: Answer, code: str) -> None:
    (finding,) = probe(answer, max_attempts=4)

    assert (finding.is_good, finding.code) == (False, code)


def test_a_request_is_one_json_document_of_utf8() -> None:
    with RawServer(GOOD) as server:
        client = OpenAiClient(settings(server.url))
        client.complete(QUESTION, (), CancelToken())
        client.close()

        (request,) = server.requests
    assert request.headers["content-type"] == "application/json"
    assert request.headers["accept-encoding"] == "identity"
    assert "规则" in request.body.decode()
    assert json.loads(request.body)["stream"] is True


def test_a_server_that_closes_at_once_is_retryable() -> None:
    with RawServer(lambda talk: talk.conn.close()) as server:
        client = OpenAiClient(settings(server.url))

        with pytest.raises(Retryable):
            client.complete(QUESTION, (), CancelToken())
