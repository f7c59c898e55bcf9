"""A send whose end is unknown is looked up before anything is repeated (S01 to S06, O4)."""

import time
from dataclasses import replace
from pathlib import Path

import pytest

from perlica.demo.napcat import NapCatStandIn
from perlica.demo.napcat.faults import (
    AnswerLate,
    AnswerTwice,
    CallFault,
    CloseBeforeAnswer,
    CutAnswer,
    FailWith,
    NeverAnswer,
    NoSelfMessage,
    TimeOut,
)
from perlica.stores.database import Database
from perlica.stores.outbox import OutboxStore
from tests.napcat.bare import with_doubt
from tests.napcat.rig import BOT, MING, QUICK_OUTBOX, Service, eventually

HISTORY = "get_group_msg_history"
DELIVERED: dict[str, CallFault] = {
    "NapCat says Timeout": TimeOut(delivered=True),
    "NapCat says Timeout and the event comes late": TimeOut(
        delivered=True, self_message_after_s=0.1
    ),
    "the kernel call never returns": TimeOut(delivered=True, returned=False),
    "nobody answers": NeverAnswer(delivered=True),
    "the connection drops before the answer": CloseBeforeAnswer(delivered=True),
    "the connection ends inside the answer": CutAnswer(then="close"),
    "the answer comes after our deadline": AnswerLate(by_s=1.5),
    "the answer comes twice": AnswerTwice(),
}
LOST: dict[str, CallFault] = {
    "NapCat says Timeout": TimeOut(delivered=False),
    "nobody answers": NeverAnswer(delivered=False),
    "the connection drops before the answer": CloseBeforeAnswer(delivered=False),
}


@pytest.mark.evidence(20)
@pytest.mark.parametrize("fault", DELIVERED.values(), ids=DELIVERED.keys())
def test_what_was_delivered_is_sent_once(
    service: Service, napcat: NapCatStandIn, fault: CallFault
) -> None:
    napcat.faults.next_calls(fault)
    (row,) = service.enqueue("结果在这里")

    sent = service.wait_row(row, "sent")
    (barrier,) = service.enqueue("屏障")
    service.wait_row(barrier, "sent")

    assert service.sent_texts() == ["结果在这里", "屏障"]
    assert sent.sent_message_id == napcat.sent[0].message_id
    assert not sent.possible_duplicate


@pytest.mark.parametrize("fault", DELIVERED.values(), ids=DELIVERED.keys())
def test_what_was_delivered_is_sent_once_though_no_event_tells(
    napcat: NapCatStandIn, tmp_path: Path, fault: CallFault
) -> None:
    with Service(napcat, tmp_path / "db" / "p.sqlite3", hears_itself=False) as service:
        napcat.faults.next_calls(fault)
        (row,) = service.enqueue("结果在这里")

        sent = service.wait_row(row, "sent")

        assert service.sent_texts() == ["结果在这里"]
        assert sent.sent_message_id == napcat.sent[0].message_id


@pytest.mark.evidence(20)
@pytest.mark.parametrize("fault", LOST.values(), ids=LOST.keys())
def test_what_was_lost_is_sent_once_more_and_flagged(
    service: Service, napcat: NapCatStandIn, fault: CallFault
) -> None:
    napcat.say(MING, "早些时候", sent_at_s=int(time.time()) - 60)
    napcat.faults.next_calls(fault)
    (row,) = service.enqueue("结果在这里")

    sent = service.wait_row(row, "sent")

    assert service.sent_texts() == ["结果在这里"]
    assert sent.possible_duplicate
    assert sent.attempt == 2


def test_what_is_lost_twice_is_given_up_with_an_alert(
    service: Service, napcat: NapCatStandIn
) -> None:
    napcat.say(MING, "早些时候", sent_at_s=int(time.time()) - 60)
    napcat.faults.next_calls(TimeOut(delivered=False), TimeOut(delivered=False))
    (row,) = service.enqueue("结果在这里")

    dead = service.wait_row(row, "dead")

    assert dead.attempt == 2
    assert napcat.sent == ()
    assert ("delivery_failed", {"outbox": row}) in service.alerts


def test_without_a_readable_history_nothing_is_repeated(
    service: Service, napcat: NapCatStandIn
) -> None:
    napcat.faults.next_calls(TimeOut(delivered=False))
    napcat.faults.next_calls(*[FailWith(text="history is broken")] * 9, action=HISTORY)
    (row,) = service.enqueue("结果在这里")

    eventually(lambda: ("delivery_unknown", {"outbox": row}) in service.alerts)
    (barrier,) = service.enqueue("屏障")
    service.wait_row(barrier, "sent")

    assert service.row(row).state == "unknown"
    assert service.sent_texts() == ["屏障"]


def test_a_history_that_does_not_reach_back_proves_nothing(
    napcat: NapCatStandIn, tmp_path: Path
) -> None:
    short = with_doubt(QUICK_OUTBOX, history_messages=2, history_looks=1)
    with Service(napcat, tmp_path / "db" / "p.sqlite3", outbox=short) as service:
        napcat.faults.next_calls(TimeOut(delivered=False))
        (row,) = service.enqueue("结果在这里")
        service.wait_row(row, "unknown")
        for number in range(4):
            napcat.say(MING, f"闲聊 {number}")

        eventually(lambda: ("delivery_unknown", {"outbox": row}) in service.alerts)

        assert service.row(row).state == "unknown"
        assert napcat.sent == ()


@pytest.mark.parametrize("delivered", [True, False])
def test_a_busy_groups_history_is_read_back_to_the_attempt(
    napcat: NapCatStandIn, tmp_path: Path, *, delivered: bool
) -> None:
    short = with_doubt(QUICK_OUTBOX, history_messages=2, history_messages_further=5)
    napcat.say(MING, "之前", sent_at_s=int(time.time()) - 600)
    with Service(
        napcat, tmp_path / "db" / "p.sqlite3", outbox=short, hears_itself=False
    ) as service:
        napcat.wait_for_call(HISTORY)
        napcat.faults.next_calls(TimeOut(delivered=delivered))
        (row,) = service.enqueue("结果在这里")
        service.wait_row(row, "unknown")
        for number in range(12):
            napcat.say(MING, f"闲聊 {number}")

        sent = service.wait_row(row, "sent")

        assert len(napcat.sent) == 1
        assert sent.possible_duplicate is not delivered


def test_in_a_group_without_a_past_the_end_of_the_history_is_proof(
    napcat: NapCatStandIn, tmp_path: Path
) -> None:
    short = with_doubt(QUICK_OUTBOX, history_messages=2)
    with Service(napcat, tmp_path / "db" / "p.sqlite3", outbox=short) as service:
        napcat.faults.next_calls(TimeOut(delivered=False))
        (row,) = service.enqueue("结果在这里")
        service.wait_row(row, "unknown")
        for number in range(4):
            napcat.say(MING, f"闲聊 {number}")

        sent = service.wait_row(row, "sent")

        assert len(napcat.sent) == 1
        assert sent.possible_duplicate


def test_an_unreadable_history_is_looked_at_again_later(
    napcat: NapCatStandIn, tmp_path: Path
) -> None:
    settings = replace(QUICK_OUTBOX, relook_every_s=0.5)
    with Service(
        napcat, tmp_path / "db" / "p.sqlite3", outbox=settings, hears_itself=False
    ) as service:
        napcat.wait_for_call(HISTORY)
        napcat.faults.next_calls(TimeOut(delivered=True))
        napcat.faults.next_calls(FailWith(text="busy"), action=HISTORY)
        (row,) = service.enqueue("结果在这里")

        service.wait_row(row, "sent")

        assert len(napcat.sent) == 1
        assert service.alerts.count(("delivery_unknown", {"outbox": row})) == 1


def test_what_stays_unknown_for_too_long_is_given_up(napcat: NapCatStandIn, tmp_path: Path) -> None:
    settings = replace(QUICK_OUTBOX, relook_every_s=0.1, relook_for_s=0.5)
    with Service(napcat, tmp_path / "db" / "p.sqlite3", outbox=settings) as service:
        napcat.faults.next_calls(TimeOut(delivered=False))
        napcat.faults.next_calls(*[FailWith(text="broken")] * 99, action=HISTORY)
        (row,) = service.enqueue("结果在这里")

        dead = service.wait_row(row, "dead")

        assert dead.last_error == "unknown_for_too_long"
        assert napcat.sent == ()


def test_what_nobody_could_look_up_for_hours_is_looked_up_then(
    napcat: NapCatStandIn, tmp_path: Path
) -> None:
    path = tmp_path / "db" / "p.sqlite3"
    patient = with_doubt(QUICK_OUTBOX, self_message_within_s=600.0)
    napcat.say(MING, "之前")
    with Service(napcat, path, outbox=patient) as service:
        napcat.faults.next_calls(TimeOut(delivered=False))
        (row,) = service.enqueue("结果在这里")
        service.wait_row(row, "unknown")
    _age(path, hours=3)

    with Service(napcat, path) as service:
        service.wait_row(row, "sent")

        assert service.sent_texts() == ["结果在这里"]


def _age(path: Path, *, hours: int) -> None:
    """The rows of the outbox are older than they are."""
    sql = "UPDATE outbox_messages SET attempted_at_ms = attempted_at_ms - :ms, "
    sql += "created_at_ms = created_at_ms - :ms, updated_at_ms = updated_at_ms - :ms"
    with Database.open(path) as database, database.transaction():
        database.change(sql, {"ms": hours * 3_600_000})


def test_the_same_text_twice_is_two_messages(napcat: NapCatStandIn, tmp_path: Path) -> None:
    with Service(napcat, tmp_path / "db" / "p.sqlite3", hears_itself=False) as service:
        (first,) = service.enqueue("好的")
        service.wait_row(first, "sent")
        napcat.faults.next_calls(TimeOut(delivered=False))
        (second,) = service.enqueue("好的")

        sent = service.wait_row(second, "sent")

        assert service.sent_texts() == ["好的", "好的"]
        assert sent.sent_message_id == napcat.sent[1].message_id
        assert sent.attempt == 2


def test_what_somebody_else_said_in_the_same_words_is_not_ours(
    service: Service, napcat: NapCatStandIn
) -> None:
    napcat.say(MING, "早些时候", sent_at_s=int(time.time()) - 60)
    napcat.faults.next_calls(TimeOut(delivered=False))
    (row,) = service.enqueue("好的")
    service.wait_row(row, "unknown")
    napcat.say(MING, "好的")

    sent = service.wait_row(row, "sent")

    assert sent.possible_duplicate
    assert service.sent_texts() == ["好的"]


def test_nothing_else_is_sent_while_a_send_is_unknown(
    napcat: NapCatStandIn, tmp_path: Path
) -> None:
    napcat.say(MING, "早些时候", sent_at_s=int(time.time()) - 60)
    with Service(napcat, tmp_path / "db" / "p.sqlite3", hears_itself=False) as service:
        napcat.faults.next_calls(TimeOut(delivered=False))
        (row,) = service.enqueue("第一")
        (later,) = service.enqueue("第二")
        service.wait_row(row, "unknown")
        service.barrier()

        assert service.row(later).state == "queued"
        service.wait_row(later, "sent")
        assert service.sent_texts() == ["第一", "第二"]


@pytest.mark.evidence(20)
def test_what_was_being_sent_at_a_crash_is_looked_up(napcat: NapCatStandIn, tmp_path: Path) -> None:
    with Service(napcat, tmp_path / "db" / "p.sqlite3") as service:
        napcat.faults.next_calls(NeverAnswer(delivered=True))
        (row,) = service.enqueue("崩溃前发出的")
        eventually(lambda: napcat.sent)
        service.stop()
        _pretend_it_was_never_seen(service, row)

        service.start()

        service.wait_row(row, "sent")
        assert service.sent_texts() == ["崩溃前发出的"]


def test_what_was_not_yet_written_at_a_crash_is_sent_after_it(
    napcat: NapCatStandIn, tmp_path: Path
) -> None:
    napcat.say(MING, "早些时候", sent_at_s=int(time.time()) - 60)
    with Service(napcat, tmp_path / "db" / "p.sqlite3") as service:
        service.stop()
        (row,) = service.enqueue("崩溃前没发出")
        with Database.open(service.path) as database, database.transaction():
            now = int(time.time() * 1000)
            OutboxStore(database).begin_attempt(row, "echo", "0" * 64, now)

        service.start()

        sent = service.wait_row(row, "sent")
        assert sent.possible_duplicate
        assert service.sent_texts() == ["崩溃前没发出"]


def test_twenty_kills_between_send_and_answer_double_nothing(
    napcat: NapCatStandIn, tmp_path: Path
) -> None:
    with Service(napcat, tmp_path / "db" / "p.sqlite3") as service:
        for number in range(20):
            napcat.faults.next_calls(NoSelfMessage() if number % 2 else NeverAnswer())
            (row,) = service.enqueue(f"第 {number} 轮")
            _wait_for_sends(napcat, number + 1)
            service.restart()
            service.wait_row(row, "sent")

    assert service.sent_texts() == [f"第 {number} 轮" for number in range(20)]


def test_a_message_from_the_accounts_phone_is_audited_as_not_ours(
    service: Service, napcat: NapCatStandIn, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("actors.outbox.own_messages._OUTSIDE_AFTER_S", 0.05)
    (row,) = service.enqueue("我们的")
    service.wait_row(row, "sent")

    napcat.say(BOT, "从手机发的")

    (event,) = eventually(lambda: _audited(service, "outbox.sent_outside"))
    assert "手机" not in event


def _wait_for_sends(napcat: NapCatStandIn, number: int) -> None:
    eventually(lambda: len(napcat.sent) >= number)


def _audited(service: Service, kind: str) -> list[str]:
    with Database.open(service.path) as database:
        rows = database.query("SELECT detail FROM audit_events WHERE kind = :kind", {"kind": kind})
    return [str(row["detail"]) for row in rows]


def _pretend_it_was_never_seen(service: Service, row: int) -> None:
    """Put the row back to the moment before anybody heard of the delivery."""
    with Database.open(service.path) as database, database.transaction():
        database.change(
            "UPDATE outbox_messages SET state = 'sending', sent_message_id = NULL WHERE id = :id",
            {"id": row},
        )
