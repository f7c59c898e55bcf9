"""The actor around the link: it answers every send, stops quickly, and never dies in silence."""

import threading
import time
from pathlib import Path

import pytest

from actors.messages import Drain, Look, Send, SendAnswered
from perlica.demo.napcat import NapCatStandIn
from perlica.demo.napcat.faults import NeverAnswer
from perlica.domain.ids import OutboxId
from tests.napcat.rig import MING, Service, eventually


def test_a_send_of_an_unlisted_action_is_answered_as_not_written(
    service: Service, napcat: NapCatStandIn
) -> None:
    eventually(lambda: service.states)
    answered: list[SendAnswered] = []
    service.overhear(answered)

    frame = {"action": "set_group_kick", "params": {}, "echo": "x"}
    service.tell_connection(Send(outbox=OutboxId(1), attempt=1, frame=frame, within_s=1))
    service.tell_connection(Look(key="k", action="get_cookies", params={}, within_s=1))

    eventually(lambda: len([a for a in answered if not isinstance(a, Tick)]) == 2)
    assert (answered[0].wrote, answered[0].fault) == (False, "action_not_allowed")
    assert not any(call.action in {"set_group_kick", "get_cookies"} for call in napcat.calls)


@pytest.mark.parametrize("state", ["ready", "waiting for an answer", "frozen"])
def test_a_stop_ends_within_two_seconds(
    napcat: NapCatStandIn, tmp_path: Path, state: str
) -> None:
    with Service(napcat, tmp_path / "db" / "p.sqlite3") as service:
        eventually(lambda: (True, "ready") in service.states)
        if state == "waiting for an answer":
            napcat.faults.next_calls(NeverAnswer())
            service.enqueue("x")
            eventually(lambda: napcat.sent)
        if state == "frozen":
            napcat.freeze_connections()
        started = time.monotonic()
        service.stop()

        assert time.monotonic() - started < 2.0


def test_sends_go_on_while_draining(service: Service, napcat: NapCatStandIn) -> None:
    eventually(lambda: (True, "ready") in service.states)
    service.tell_connection(Drain())
    napcat.say(MING, "晚了")
    (row,) = service.enqueue("告别")

    service.wait_row(row, "sent")

    assert service.sent_texts() == ["告别"]


def test_a_dead_reader_thread_rings_the_alarm(
    napcat: NapCatStandIn, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(threading, "excepthook", lambda _: None)
    service = Service(napcat, tmp_path / "db" / "p.sqlite3")
    monkeypatch.setattr(service.position, "known_seq", lambda: 1 / 0)
    service.start()

    eventually(service.alarm.rung.is_set)
    service.stop()

    assert service.alarm.faults == ["napcat: RuntimeError"]


def test_an_unknown_message_rings_the_alarm(napcat: NapCatStandIn, tmp_path: Path) -> None:
    service = Service(napcat, tmp_path / "db" / "p.sqlite3")
    service.start()

    service.tell_connection("unheard of")

    eventually(service.alarm.rung.is_set)
    service.stop()
