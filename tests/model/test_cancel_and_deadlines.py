"""A model server that hangs in any way: cancel is prompt, deadlines hold, sockets close."""

import socket
import ssl
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from time import monotonic
from typing import Any

import pytest

from perlica.clients.model.contract import ModelClient, ModelTurn
from perlica.clients.model.opening import open_client
from perlica.conversation import Conversation, UserMessage
from perlica.domain.cancel import CancelToken
from perlica.domain.errors import Cancelled, PerlicaError, Retryable
from tests.model.server import (
    WAIT_S,
    Answer,
    Json,
    RawServer,
    drip,
    drip_head,
    say_nothing,
    send_head_and_stop,
    stream,
    whole,
)
from tests.model.words import DONE, QUESTION, delta, sealed, settings

PROMPT_S = 1.0
"""Far below the two seconds that are promised, far above what it takes on a busy machine."""

HANGS: dict[str, Answer] = {
    "says nothing": say_nothing,
    "sends headers and stops": send_head_and_stop,
    "drips its headers": drip_head,
    "drips keep-alives": drip(b": keep-alive\n\n"),
    "drips blank lines": drip(b"\n"),
    "drips tokens": drip(delta(content="x")),
    "stops after a token": drip(b": k\n\n", before=delta(content="x")),
}


class Ask:
    """A `complete` in a thread of its own."""

    def __init__(self, client: ModelClient, conversation: Conversation = QUESTION) -> None:
        self.cancel = CancelToken()
        self.turn: ModelTurn | None = None
        self.error: PerlicaError | None = None
        self._client = client
        self._conversation = conversation
        self._thread = threading.Thread(target=self._run)
        self._thread.start()

    def _run(self) -> None:
        try:
            self.turn = self._client.complete(self._conversation, (), self.cancel)
        except PerlicaError as error:
            self.error = error

    def cancel_and_measure_s(self) -> float:
        began = monotonic()
        self.cancel.set()
        self._thread.join(WAIT_S)
        assert not self._thread.is_alive()
        return monotonic() - began


@contextmanager
def opened(url: str, **changes: Json) -> Iterator[ModelClient]:
    client = open_client(settings(url, **changes))
    try:
        yield client
    finally:
        client.close()


@pytest.mark.parametrize("hang", HANGS)
def test_cancel_closes_the_socket_of_a_server_that_hangs(hang: str) -> None:
    with RawServer(HANGS[hang]) as server, opened(server.url) as client:
        ask = Ask(client)
        assert server.arrived.wait(WAIT_S)

        took_s = ask.cancel_and_measure_s()

        assert took_s < PROMPT_S
        assert isinstance(ask.error, Cancelled)
        assert server.gone.wait(WAIT_S)
        assert len(server.requests) == 1


def test_cancel_ends_a_tls_handshake_that_hangs(tls: tuple[ssl.SSLContext, Any]) -> None:
    with (
        RawServer(say_nothing, greets=False) as server,
        opened(server.url.replace("http:", "https:"), ca_file=tls[1]) as client,
    ):
        ask = Ask(client)
        assert server.arrived.wait(WAIT_S)

        took_s = ask.cancel_and_measure_s()

        assert took_s < PROMPT_S
        assert isinstance(ask.error, Cancelled)
        assert server.gone.wait(WAIT_S)


@pytest.mark.parametrize("hang", ["says nothing", "sends headers and stops", "drips tokens"])
def test_cancel_closes_a_tls_connection_that_hangs(
    hang: str, tls: tuple[ssl.SSLContext, Any]
) -> None:
    with (
        RawServer(HANGS[hang], context=tls[0]) as server,
        opened(server.url, ca_file=tls[1]) as client,
    ):
        ask = Ask(client)
        assert server.arrived.wait(WAIT_S)

        assert ask.cancel_and_measure_s() < PROMPT_S
        assert isinstance(ask.error, Cancelled)


def test_cancel_reaches_a_kept_connection_too() -> None:
    answers = (stream(delta(content="a"), delta("stop"), DONE), say_nothing)
    with RawServer(*answers) as server, opened(server.url) as client:
        client.complete(QUESTION, (), CancelToken())
        server.arrived.clear()
        ask = Ask(client)
        assert server.arrived.wait(WAIT_S)

        assert ask.cancel_and_measure_s() < PROMPT_S
        assert server.connections == 1


def test_cancel_ends_a_connect_that_nobody_accepts() -> None:
    with full_backlog() as port, opened(f"http://127.0.0.1:{port}/v1", connect_s=30.0) as client:
        ask = Ask(client)

        assert not ask.cancel.wait(0.2)
        assert ask.cancel_and_measure_s() < PROMPT_S
        assert isinstance(ask.error, Cancelled)


def test_cancel_ends_a_request_that_the_server_does_not_read() -> None:
    listener = socket.create_server(("127.0.0.1", 0))
    long = (UserMessage(content=sealed("x" * 200_000)),) * 100
    try:
        with opened(f"http://127.0.0.1:{listener.getsockname()[1]}") as client:
            ask = Ask(client, long)
            assert not ask.cancel.wait(0.2)

            assert ask.cancel_and_measure_s() < PROMPT_S
            assert isinstance(ask.error, Cancelled)
    finally:
        listener.close()


def test_cancel_ends_a_name_look_up_that_hangs(monkeypatch: pytest.MonkeyPatch) -> None:
    asked, release = threading.Event(), threading.Event()

    def look_up(*args: object, **kwargs: object) -> list[Any]:
        asked.set()
        release.wait(WAIT_S)
        return []

    monkeypatch.setattr("perlica.clients.model.dialing.socket.getaddrinfo", look_up)
    with opened("https://model.example/v1") as client:
        ask = Ask(client)
        assert asked.wait(WAIT_S)

        assert ask.cancel_and_measure_s() < PROMPT_S
        assert isinstance(ask.error, Cancelled)
    release.set()


def test_cancel_ends_the_wait_between_two_attempts() -> None:
    busy = whole({}, "429 Too Many Requests", Retry_After="60")
    with RawServer(busy) as server, opened(server.url, max_attempts=4, total_s=300.0) as client:
        ask = Ask(client)
        assert server.arrived.wait(WAIT_S)

        assert ask.cancel_and_measure_s() < PROMPT_S
        assert isinstance(ask.error, Cancelled)


def test_a_cancelled_token_sends_nothing() -> None:
    cancel = CancelToken()
    cancel.set()
    with RawServer(say_nothing) as server, opened(server.url) as client:
        with pytest.raises(Cancelled):
            client.complete(QUESTION, (), cancel)

        assert server.connections == 0


@pytest.mark.parametrize(
    ("hang", "limits", "code"),
    [
        ("says nothing", {"first_token_s": 0.2}, "model_first_token_deadline"),
        ("sends headers and stops", {"first_token_s": 0.2}, "model_first_token_deadline"),
        ("drips its headers", {"first_token_s": 0.2}, "model_first_token_deadline"),
        ("drips keep-alives", {"first_token_s": 0.2}, "model_first_token_deadline"),
        ("drips blank lines", {"first_token_s": 0.2}, "model_first_token_deadline"),
        ("stops after a token", {"between_tokens_s": 0.2}, "model_between_tokens_deadline"),
        ("drips tokens", {"attempt_s": 0.3}, "model_attempt_deadline"),
        ("drips tokens", {"total_s": 0.3}, "model_total_deadline"),
    ],
)
def test_deadlines_hold_whatever_the_server_drips(
    hang: str, limits: dict[str, float], code: str
) -> None:
    with RawServer(HANGS[hang]) as server, opened(server.url, **limits) as client:
        began = monotonic()

        with pytest.raises(Retryable, match=code):
            client.complete(QUESTION, (), CancelToken())

        assert monotonic() - began < 0.3 + PROMPT_S
        assert server.gone.wait(WAIT_S)


def test_a_deadline_between_tokens_shorter_than_the_first_holds_at_once() -> None:
    with (
        RawServer(HANGS["stops after a token"]) as server,
        opened(server.url, first_token_s=8.0, between_tokens_s=0.1) as client,
    ):
        began = monotonic()

        with pytest.raises(Retryable, match="model_between_tokens_deadline"):
            client.complete(QUESTION, (), CancelToken())

        assert monotonic() - began < PROMPT_S


@pytest.mark.parametrize("greets", [True, False])
def test_connecting_has_its_own_deadline(greets: bool, tls: tuple[ssl.SSLContext, Any]) -> None:
    with full_backlog() as port, RawServer(say_nothing, greets=greets) as server:
        url = f"http://127.0.0.1:{port}" if greets else server.url.replace("http:", "https:")
        with opened(url, connect_s=0.2, ca_file=tls[1]) as client:
            began = monotonic()

            with pytest.raises(Retryable, match=r"model_(connect_deadline|unreachable)"):
                client.complete(QUESTION, (), CancelToken())

            assert monotonic() - began < 0.2 + PROMPT_S


def test_no_thread_is_left_behind() -> None:
    def model_threads() -> list[str]:
        return [t.name for t in threading.enumerate() if t.name.startswith("perlica-model")]

    answers = (stream(delta(content="a"), delta("stop"), DONE), say_nothing)
    with RawServer(*answers) as server, opened(server.url, first_token_s=0.1) as client:
        client.complete(QUESTION, (), CancelToken())
        with pytest.raises(Retryable):
            client.complete(QUESTION, (), CancelToken())

        assert model_threads() == []


@contextmanager
def full_backlog() -> Iterator[int]:
    """A port whose accept queue is full, so that a further connect gets no answer."""
    listener = socket.socket()
    listener.bind(("127.0.0.1", 0))
    listener.listen(0)
    address = listener.getsockname()
    fillers = [socket.socket() for _ in range(4)]
    try:
        for filler in fillers:
            filler.setblocking(False)
            filler.connect_ex(address)
        yield int(address[1])
    finally:
        for filler in fillers:
            filler.close()
        listener.close()
