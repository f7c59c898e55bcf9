"""NapCat dials us: the same service over a connection that the other side opens."""

import socket
import threading
import time
from collections.abc import Iterator
from pathlib import Path

import pytest
import websocket

from perlica.clients.napcat import ListenTransport, NapCatSettings, Unreachable
from perlica.demo.napcat import NapCatStandIn
from perlica.domain.errors import Misconfigured
from tests.napcat.bridge import ReverseNapCat, dial, reverse_headers
from tests.napcat.rig import MING, LinkRig, Service, eventually, settings_for


def _settings(napcat: NapCatStandIn) -> NapCatSettings:
    return settings_for(napcat, url="ws://127.0.0.1:0", reverse=True)


@pytest.fixture
def listening(napcat: NapCatStandIn) -> Iterator[tuple[LinkRig, int]]:
    settings = _settings(napcat)
    transport = ListenTransport(settings)
    with LinkRig(settings, transport=transport) as rig:
        yield rig, transport.port


def test_messages_come_over_a_connection_that_napcat_opened(
    listening: tuple[LinkRig, int], napcat: NapCatStandIn
) -> None:
    rig, port = listening
    with ReverseNapCat(napcat, port, token=napcat.token):
        rig.wait_ready()
        napcat.say(MING, "你好" * 40_000)

        rig.wait_text("你好")


def test_napcat_may_come_back_and_what_was_missed_is_read_back(
    listening: tuple[LinkRig, int], napcat: NapCatStandIn
) -> None:
    rig, port = listening
    with ReverseNapCat(napcat, port, token=napcat.token):
        rig.wait_ready()
        napcat.say(MING, "之前")
        rig.wait_text("之前")
    eventually(lambda: not rig.link.is_ready)
    napcat.say(MING, "期间")

    with ReverseNapCat(napcat, port, token=napcat.token):
        assert rig.wait_text("期间").from_history


def test_the_outbox_sends_over_it(napcat: NapCatStandIn, tmp_path: Path) -> None:
    port = _free_port()
    url = f"ws://127.0.0.1:{port}"
    with (
        Service(napcat, tmp_path / "db" / "p.sqlite3", url=url, reverse=True) as service,
        ReverseNapCat(napcat, port, token=napcat.token),
    ):
        (row,) = service.enqueue("反向也能发")

        service.wait_row(row, "sent")

    assert service.sent_texts() == ["反向也能发"]


@pytest.mark.parametrize(
    "changes",
    [
        {"Authorization": "Bearer wrong"},
        {"Authorization": "Bearer "},
        {"Authorization": None},
        {"X-Self-ID": "10001"},
        {"X-Self-ID": None},
        {"x-client-role": "Event"},
    ],
)
def test_strangers_are_turned_away_and_napcat_still_gets_in(
    listening: tuple[LinkRig, int], napcat: NapCatStandIn, changes: dict[str, str | None]
) -> None:
    rig, port = listening
    headers = {**reverse_headers(napcat.token, napcat.self_id), **changes}

    with pytest.raises(websocket.WebSocketBadStatusException) as caught:
        dial(port, {name: value for name, value in headers.items() if value is not None})

    assert caught.value.status_code in {401, 403}
    with ReverseNapCat(napcat, port, token=napcat.token):
        rig.wait_ready()


@pytest.mark.parametrize(
    "said",
    [
        b"",
        b"GET / HTTP/1.1\r\n\r\n",
        b"POST / HTTP/1.1\r\nX: 1\r\n\r\n",
        b"\x16\x03\x01\x02\x00" * 50,
        b"GET / HTTP/1.1\r\n" + b"X: y\r\n" * 3_000,
    ],
)
def test_noise_on_the_port_costs_nothing(
    listening: tuple[LinkRig, int], napcat: NapCatStandIn, said: bytes
) -> None:
    rig, port = listening
    with socket.create_connection(("127.0.0.1", port), 5) as noisy:
        try:
            noisy.sendall(said)
            noisy.shutdown(socket.SHUT_WR)
            while noisy.recv(4096):
                pass
        except OSError:
            pass

    with ReverseNapCat(napcat, port, token=napcat.token):
        rig.wait_ready()


def test_a_head_that_drips_is_cut_off_in_time(
    listening: tuple[LinkRig, int], napcat: NapCatStandIn
) -> None:
    rig, port = listening
    started = time.monotonic()
    with socket.create_connection(("127.0.0.1", port), 5) as slow:
        try:
            while time.monotonic() - started < 8:
                slow.sendall(b"x")
                threading.Event().wait(0.05)
        except OSError:
            pass

    assert time.monotonic() - started < 5
    with ReverseNapCat(napcat, port, token=napcat.token):
        rig.wait_ready()


def test_a_stop_ends_the_waiting(napcat: NapCatStandIn) -> None:
    transport = ListenTransport(_settings(napcat))
    threading.Timer(0.1, transport.abort).start()

    with pytest.raises(Unreachable):
        transport.open()


def test_a_port_in_use_is_said_at_once(napcat: NapCatStandIn) -> None:
    with pytest.raises(Misconfigured, match="listen"):
        ListenTransport(settings_for(napcat, url=napcat.url, reverse=True))


def _free_port() -> int:
    with socket.create_server(("127.0.0.1", 0)) as free:
        return int(free.getsockname()[1])
