"""The stand-in dials a listening bot as NapCat does: headers, frames, faults, and again."""

import json
import socket
from collections.abc import Iterator
from contextlib import closing

import pytest
from wsproto import ConnectionType, WSConnection
from wsproto.events import AcceptConnection, CloseConnection, Request, TextMessage

from perlica.demo.napcat import NapCatStandIn, Settings
from tests.demo.peer import Json

WITHIN_S = 5
MING = 30001


class Bot:
    """The listening side: accepts one connection at a time."""

    def __init__(self) -> None:
        self._server = socket.create_server(("127.0.0.1", 0))
        self._server.settimeout(WITHIN_S)
        self.url = f"ws://127.0.0.1:{self._server.getsockname()[1]}/onebot"

    def accept(self) -> "Guest":
        sock, _address = self._server.accept()
        sock.settimeout(WITHIN_S)
        return Guest(sock)

    def close(self) -> None:
        self._server.close()


class Guest:
    """One NapCat that came in."""

    def __init__(self, sock: socket.socket) -> None:
        self._sock = sock
        self._protocol = WSConnection(ConnectionType.SERVER)
        request = self.event()
        assert isinstance(request, Request)
        self.target = request.target
        self.headers = {
            name.decode().lower(): value.decode() for name, value in request.extra_headers
        }
        self._sock.sendall(self._protocol.send(AcceptConnection()))

    def event(self) -> object:
        while (event := next(self._protocol.events(), None)) is None:
            data = self._sock.recv(65536)
            self._protocol.receive_data(data or None)
        return event

    def frame(self) -> Json:
        text = ""
        while True:
            event = self.event()
            assert isinstance(event, TextMessage)
            text += event.data
            if event.message_finished:
                return json.loads(text)

    def send(self, value: Json) -> None:
        self._sock.sendall(self._protocol.send(TextMessage(data=json.dumps(value))))

    def close(self) -> None:
        self._sock.close()


@pytest.fixture
def napcat() -> Iterator[NapCatStandIn]:
    settings = Settings(heartbeat_interval_ms=0)
    with NapCatStandIn(token="reverse", settings=settings) as stand_in:
        yield stand_in


@pytest.fixture
def bot() -> Iterator[Bot]:
    with closing(Bot()) as listening:
        yield listening


def test_it_introduces_itself_and_serves_both_ways(napcat: NapCatStandIn, bot: Bot) -> None:
    napcat.dial(bot.url)
    with closing(bot.accept()) as guest:
        greeting = guest.frame()
        napcat.wait_for_connection()
        napcat.say(MING, "你好", mention=True)
        event = guest.frame()
        guest.send({"action": "get_login_info", "echo": "e"})
        answer = guest.frame()

    assert guest.target == "/onebot"
    assert guest.headers["x-self-id"] == str(napcat.self_id)
    assert guest.headers["authorization"] == "Bearer reverse"
    assert guest.headers["x-client-role"] == "Universal"
    assert greeting["sub_type"] == "connect"
    assert event["raw_message"] == f"[CQ:at,qq={napcat.self_id}] 你好"
    assert answer["data"]["user_id"] == napcat.self_id


def test_it_dials_again_after_a_break(napcat: NapCatStandIn, bot: Bot) -> None:
    napcat.dial(bot.url, interval_ms=20)
    bot.accept().close()

    with closing(bot.accept()) as again:
        assert again.frame()["sub_type"] == "connect"


def test_invalid_bytes_are_masked_and_arrive_as_they_are(napcat: NapCatStandIn, bot: Bot) -> None:
    napcat.dial(bot.url)
    with closing(bot.accept()) as guest:
        guest.frame()
        napcat.wait_for_connection()
        napcat.inject_bytes(b"\xff\xfe")

        refused = guest.event()

    assert isinstance(refused, CloseConnection)
    assert refused.code == 1007
