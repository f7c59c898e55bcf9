"""The actor around the link: it answers every send, stops quickly, and never dies in silence."""

import threading
import time
from pathlib import Path

import pytest

from actors.base import Alarm
from actors.messages import ConnectionChanged, Drain, Look, Seen, Send, SendAnswered
from actors.napcat.actor import NapCatConnection, Peers
from perlica.clients.napcat import InboundQueue
from perlica.demo.napcat import NapCatStandIn
from perlica.demo.napcat.faults import NeverAnswer
from perlica.domain.errors import StoreUnavailable
from perlica.domain.ids import OutboxId
from tests.napcat.rig import (
    MING,
    Catcher,
    LinkRig,
    MemoryPosition,
    Service,
    eventually,
    settings_for,
)


def test_unlisted_actions_are_answered_as_not_written(napcat: NapCatStandIn) -> None:
    told: list[object] = []
    catcher = Catcher.start(told)
    connection = NapCatConnection.start(
        settings=settings_for(napcat),
        queue=InboundQueue(),
        position=MemoryPosition(),
        peers=Peers(protection=catcher, outbox=catcher),
        alarm=Alarm(),
    )
    eventually(lambda: ConnectionChanged(ready=True, reason="ready") in told)

    frame = {"action": "set_group_kick", "params": {}, "echo": "x"}
    connection.tell(Send(outbox=OutboxId(1), attempt=1, frame=frame, within_s=1))
    connection.tell(Look(key="k", action="get_cookies", params={}, within_s=1))

    answered = eventually(lambda: [m for m in told if isinstance(m, SendAnswered)])
    seen = eventually(lambda: [m for m in told if isinstance(m, Seen)])
    connection.stop(timeout=5)
    catcher.stop(timeout=5)
    assert (answered[0].wrote, answered[0].fault) == (False, "action_not_allowed")
    assert seen == [Seen(key="k", response=None)]
    assert not any(call.action in {"set_group_kick", "get_cookies"} for call in napcat.calls)


@pytest.mark.parametrize("state", ["ready", "waiting for an answer", "frozen"])
def test_a_stop_ends_within_two_seconds(napcat: NapCatStandIn, tmp_path: Path, state: str) -> None:
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


class _FailsTheChecker(MemoryPosition):
    """Its database is locked when the first check looks at it."""

    has_failed = False

    def known_seq(self) -> int | None:
        if threading.current_thread().name == "perlica-napcat-check" and not self.has_failed:
            self.has_failed = True
            raise StoreUnavailable("database_busy", "another writer holds the database")
        return super().known_seq()


def test_a_check_that_fails_ends_its_connection_and_the_next_one_catches_up(
    napcat: NapCatStandIn,
) -> None:
    position = _FailsTheChecker(stored=5000)
    said = napcat.say(MING, "错过的")
    with LinkRig(settings_for(napcat), position=position) as rig:
        rig.wait_state("check_failed")

        assert rig.wait_text(said.text).from_history
        rig.wait_ready()


def test_an_unknown_message_rings_the_alarm(napcat: NapCatStandIn, tmp_path: Path) -> None:
    service = Service(napcat, tmp_path / "db" / "p.sqlite3")
    service.start()

    service.tell_connection("unheard of")

    eventually(service.alarm.rung.is_set)
    service.stop()
