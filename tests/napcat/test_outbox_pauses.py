"""Muted, removed, offline: the outbox waits instead of hammering (S03, S21)."""

from dataclasses import replace
from pathlib import Path

from perlica.demo.napcat import NapCatStandIn
from perlica.demo.napcat.faults import Refuse
from tests.napcat.rig import QUICK_OUTBOX, Service, eventually

SEND = "send_group_msg"


def _sends(napcat: NapCatStandIn) -> int:
    return sum(call.action == SEND for call in napcat.calls)


def test_a_mute_pauses_until_it_is_lifted(service: Service, napcat: NapCatStandIn) -> None:
    napcat.mute_bot()
    eventually(lambda: napcat.connections)
    (row,) = service.enqueue("等解除")
    service.barrier()
    sends_while_muted = _sends(napcat)

    napcat.unmute_bot()

    service.wait_row(row, "sent")
    assert sends_while_muted <= 1
    assert service.sent_texts() == ["等解除"]


def test_a_mute_that_nobody_announced_is_learnt_from_the_refusal(
    service: Service, napcat: NapCatStandIn
) -> None:
    napcat.faults.next_calls(Refuse(result=120))
    (row,) = service.enqueue("被禁言")
    eventually(lambda: service.row(row).last_error == "muted")
    (other,) = service.enqueue("也要等")
    service.barrier()

    assert service.row(row).state == "queued"
    assert service.row(other).attempt == 0
    assert _sends(napcat) == 1


def test_a_mute_is_tried_again_after_its_time(napcat: NapCatStandIn, tmp_path: Path) -> None:
    settings = replace(QUICK_OUTBOX, muted_for_s=0.1)
    with Service(napcat, tmp_path / "db" / "p.sqlite3", outbox=settings) as service:
        napcat.faults.next_calls(*[Refuse(result=120)] * 7)
        (row,) = service.enqueue("终于")

        sent = service.wait_row(row, "sent")

    assert sent.attempt == 8


def test_after_a_removal_nothing_is_sent(service: Service, napcat: NapCatStandIn) -> None:
    service.wait_row(service.enqueue("之前")[0], "sent")
    napcat.remove_bot(is_noticed=False)
    (row,) = service.enqueue("被移出")
    eventually(lambda: service.row(row).last_error == "removed")
    (other,) = service.enqueue("也不发")
    service.barrier()

    assert service.row(other).attempt == 0
    assert _sends(napcat) == 2


def test_offline_pauses_until_the_account_is_back(service: Service, napcat: NapCatStandIn) -> None:
    (before,) = service.enqueue("上线时")
    service.wait_row(before, "sent")
    napcat.go_offline()
    eventually(lambda: service.states and not service.states[-1][0])
    (row,) = service.enqueue("等上线")
    service.barrier()
    sends_while_offline = _sends(napcat)

    napcat.come_online()

    service.wait_row(row, "sent")
    assert sends_while_offline == 1


def test_a_network_refusal_pauses_for_a_while(napcat: NapCatStandIn, tmp_path: Path) -> None:
    settings = replace(QUICK_OUTBOX, offline_for_s=0.1)
    with Service(napcat, tmp_path / "db" / "p.sqlite3", outbox=settings) as service:
        napcat.faults.next_calls(Refuse(result=1006514))
        (row,) = service.enqueue("断网")

        sent = service.wait_row(row, "sent")

    assert sent.attempt == 2
    assert not sent.possible_duplicate


def test_rows_wait_for_a_connection_and_lose_no_attempt(
    service: Service, napcat: NapCatStandIn
) -> None:
    eventually(lambda: service.states and service.states[-1][0])
    napcat.cut_connections()
    (row,) = service.enqueue("断线时入队")

    sent = service.wait_row(row, "sent")

    assert service.sent_texts() == ["断线时入队"]
    assert not sent.possible_duplicate
