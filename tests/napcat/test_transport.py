"""Reaching NapCat: the token goes to NapCat alone, and no peer can hold the thread (S22)."""

import socket
import ssl
import threading
import time
from pathlib import Path

import pytest

from perlica.clients.napcat import DialTransport, NapCatSettings, Unreachable, Wire, WireBroken
from perlica.demo.napcat import NapCatStandIn
from perlica.demo.napcat.faults import AnswerHttp, CloseAtOnce, StallHandshake
from perlica.domain.errors import Misconfigured
from perlica.domain.ids import GroupId, UserId
from tests.napcat.peers import ScriptedServer, accept_upgrade, frame
from tests.napcat.rig import BOT, OUR_GROUP, eventually, settings_for

TOKEN = "a-token-that-must-not-travel"
LIMIT_BYTES = 100_000


def _settings(url: str, **changes: object) -> NapCatSettings:
    given: dict[str, object] = {
        "url": url,
        "token": TOKEN,
        "group_id": GroupId(OUR_GROUP),
        "self_id": UserId(BOT),
        "connect_within_s": 0.5,
        "io_timeout_s": 0.1,
        "frame_limit_bytes": LIMIT_BYTES,
    }
    return NapCatSettings(**{**given, **changes})  # type: ignore[arg-type]


def _receive(wire: Wire, within_s: float = 3.0) -> str:
    def look() -> str | None:
        return wire.receive()

    return eventually(look, within_s) or ""


def test_the_token_travels_in_the_header_and_not_in_the_address(napcat: NapCatStandIn) -> None:
    wire = DialTransport(settings_for(napcat)).open()
    connection = napcat.wait_for_connection()

    headers = {name.lower(): value for name, value in connection.headers.items()}
    wire.release()

    assert headers["authorization"] == f"Bearer {napcat.token}"
    assert napcat.token not in connection.target
    assert "origin" not in headers


def test_a_redirect_does_not_carry_the_token_away(napcat: NapCatStandIn) -> None:
    def swallow(_sock: socket.socket, _head: bytes) -> None:
        return None

    with ScriptedServer(swallow) as thief:
        location = (("Location", thief.url()),)
        napcat.faults.next_connections(AnswerHttp(status=302, headers=location))

        with pytest.raises(Unreachable) as caught:
            DialTransport(settings_for(napcat)).open()

        assert thief.heads == []
    assert napcat.token not in str(caught.value)


def test_proxies_of_the_environment_are_not_used(
    napcat: NapCatStandIn, monkeypatch: pytest.MonkeyPatch
) -> None:
    def swallow(_sock: socket.socket, _head: bytes) -> None:
        return None

    with ScriptedServer(swallow) as proxy:
        for name in ("http_proxy", "HTTP_PROXY", "https_proxy", "all_proxy"):
            monkeypatch.setenv(name, f"http://127.0.0.1:{proxy.port}")
        monkeypatch.delenv("no_proxy", raising=False)

        DialTransport(settings_for(napcat)).open().release()

        assert proxy.heads == []


@pytest.mark.parametrize(
    "fault",
    [AnswerHttp(status=403), AnswerHttp(status=500), StallHandshake(), CloseAtOnce()],
    ids=["403", "500", "stall", "close"],
)
def test_a_failed_handshake_ends_in_time(napcat: NapCatStandIn, fault: object) -> None:
    napcat.faults.next_connections(fault)  # type: ignore[arg-type]
    started = time.monotonic()

    with pytest.raises(Unreachable):
        DialTransport(settings_for(napcat, connect_within_s=0.3)).open()

    assert time.monotonic() - started < 2.0


def test_a_handshake_that_drips_for_ever_ends_in_time() -> None:
    def drip(sock: socket.socket, _head: bytes) -> None:
        sock.sendall(b"HTTP/1.1 101 X\r\nX: ")
        while True:
            sock.sendall(b"y")
            threading.Event().wait(0.02)

    with ScriptedServer(drip) as server:
        started = time.monotonic()
        with pytest.raises(Unreachable):
            DialTransport(_settings(server.url(), connect_within_s=0.3)).open()

        assert time.monotonic() - started < 2.0


def test_nobody_listening_is_an_error_that_names_the_step() -> None:
    with socket.create_server(("127.0.0.1", 0)) as free:
        port = free.getsockname()[1]

    with pytest.raises(Unreachable) as caught:
        DialTransport(_settings(f"ws://127.0.0.1:{port}")).open()

    assert caught.value.code == "napcat_connect"


def test_opening_can_be_aborted_from_another_thread() -> None:
    accepted = threading.Event()

    def stall(sock: socket.socket, _head: bytes) -> None:
        accepted.set()
        sock.recv(1)

    with ScriptedServer(stall) as server:
        transport = DialTransport(_settings(server.url(), connect_within_s=30.0))

        def abort_later() -> None:
            accepted.wait(5)
            transport.abort()

        threading.Thread(target=abort_later).start()
        started = time.monotonic()
        with pytest.raises(Unreachable):
            transport.open()

        assert time.monotonic() - started < 2.0


def test_a_half_frame_is_finished_later() -> None:
    whole = frame(b'{"a":1}')
    go_on = threading.Event()

    def halves(sock: socket.socket, head: bytes) -> None:
        accept_upgrade(sock, head)
        sock.sendall(whole[:4])
        go_on.wait(5)
        sock.sendall(whole[4:])
        sock.recv(1)

    with ScriptedServer(halves) as server:
        wire = DialTransport(_settings(server.url())).open()
        waited = wire.receive()
        go_on.set()

        assert waited is None
        assert _receive(wire) == '{"a":1}'
        wire.release()


BROKEN = {
    "a reserved bit of a ping": (frame(b"x", opcode=9, rsv=4), "protocol"),
    "an unknown opcode": (frame(b"x", opcode=7), "protocol"),
    "a frame over the limit": (frame(b"x" * (LIMIT_BYTES + 1))[:20], "too_large"),
    "fragments over the limit": (
        frame(b"x" * 60_000, fin=False) + frame(b"x" * 60_000, opcode=0),
        "too_large",
    ),
    "a continuation of nothing": (frame(b"x", opcode=0), "protocol"),
    "an empty close": (frame(b"", opcode=8), "closed"),
    "a close with one byte": (frame(b"x", opcode=8), "protocol"),
}


@pytest.mark.parametrize(("sent", "code"), BROKEN.values(), ids=BROKEN.keys())
def test_a_broken_peer_ends_the_connection(sent: bytes, code: str) -> None:
    def speak(sock: socket.socket, head: bytes) -> None:
        accept_upgrade(sock, head)
        sock.sendall(sent)
        sock.recv(1)

    with ScriptedServer(speak) as server:
        wire = DialTransport(_settings(server.url())).open()
        with pytest.raises(WireBroken) as caught:
            _receive(wire)
        wire.release()

    assert caught.value.code == code
    assert caught.value.__cause__ is None
    assert "x" * 8 not in str(caught.value)


def test_fragments_are_put_together() -> None:
    def speak(sock: socket.socket, head: bytes) -> None:
        accept_upgrade(sock, head)
        sock.sendall(frame(b'{"a"', fin=False) + frame(b"", opcode=9) + frame(b":1}", opcode=0))
        sock.recv(1)

    with ScriptedServer(speak) as server:
        wire = DialTransport(_settings(server.url())).open()

        assert _receive(wire) == '{"a":1}'
        wire.release()


def test_tls_checks_the_authority(tls: tuple[ssl.SSLContext, Path]) -> None:
    context, authority = tls

    def speak(sock: socket.socket, head: bytes) -> None:
        accept_upgrade(sock, head)
        sock.sendall(frame("你好".encode()))
        sock.recv(1)

    with ScriptedServer(speak, tls=context) as server:
        trusted = _settings(server.url("wss"), ca_file=authority)
        wire = DialTransport(trusted).open()

        assert _receive(wire) == "你好"
        wire.release()


def test_tls_with_an_unknown_authority_is_refused_before_the_token(
    tls: tuple[ssl.SSLContext, Path],
) -> None:
    context, _ = tls
    with ScriptedServer(accept_upgrade, tls=context) as server:
        with pytest.raises(Unreachable) as caught:
            DialTransport(_settings(server.url("wss"))).open()

        assert server.heads == []
    assert caught.value.code == "napcat_tls"


def test_tls_carries_both_directions_at_once(tls: tuple[ssl.SSLContext, Path]) -> None:
    context, authority = tls
    rounds = 200

    def echo(sock: socket.socket, head: bytes) -> None:
        accept_upgrade(sock, head)
        sock.sendall(b"".join(frame(b"x" * 2_000) for _ in range(rounds)))
        while sock.recv(65_536):
            pass

    with ScriptedServer(echo, tls=context) as server:
        wire = DialTransport(_settings(server.url("wss"), ca_file=authority)).open()

        def write_all() -> None:
            for _ in range(rounds):
                wire.write("y" * 2_000)

        writers = [threading.Thread(target=write_all) for _ in range(3)]
        for writer in writers:
            writer.start()
        received = [_receive(wire) for _ in range(rounds)]
        for writer in writers:
            writer.join(5)
        wire.release()

    assert received == ["x" * 2_000] * rounds


BAD_SETTINGS = {
    "an empty token": {"token": ""},
    "a token with a line break": {"token": "a\r\nX-Evil: 1"},
    "a token that is not ASCII": {"token": "令牌"},
    "a token in the address": {"url": "ws://127.0.0.1:3001/?access_token=x"},
    "a password in the address": {"url": "ws://user:secret@127.0.0.1:3001"},
    "an address without a host": {"url": "ws://"},
    "an http address": {"url": "http://127.0.0.1:3001"},
    "the path without events": {"url": "ws://127.0.0.1:3001/api/"},
    "a port that is none": {"url": "ws://127.0.0.1:99999"},
    "to listen with TLS": {"url": "wss://127.0.0.1:3001", "reverse": True},
    "to listen without a port": {"url": "ws://127.0.0.1", "reverse": True},
}


@pytest.mark.parametrize("changes", BAD_SETTINGS.values(), ids=BAD_SETTINGS.keys())
def test_settings_that_cannot_work_are_refused_at_once(changes: dict[str, object]) -> None:
    with pytest.raises(Misconfigured) as caught:
        _settings(**{"url": "ws://127.0.0.1:3001", **changes})  # type: ignore[arg-type]

    assert "secret" not in str(caught.value)


def test_settings_do_not_show_the_token() -> None:
    assert TOKEN not in repr(_settings("ws://127.0.0.1:3001"))
