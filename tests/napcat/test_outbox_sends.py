"""What is enqueued reaches the group: once, in order, at a pace, and as text and nothing else."""

from dataclasses import replace
from itertools import pairwise
from pathlib import Path

import pytest

from perlica.demo.napcat import NapCatStandIn
from perlica.demo.napcat import Settings as NapCatSettings
from perlica.demo.napcat.faults import FailWith, NoSelfMessage, SelfMessageFirst
from perlica.domain.ids import MessageId, TaskId, TicketId, UserId
from perlica.domain.outbox import OutboxKind
from tests.napcat.rig import HONG, MING, QUICK_OUTBOX, Service, eventually


def test_an_enqueued_text_reaches_the_group_once(service: Service, napcat: NapCatStandIn) -> None:
    (row,) = service.enqueue("做好了")

    sent = service.wait_row(row, "sent")

    assert service.sent_texts() == ["做好了"]
    assert sent.sent_message_id == napcat.sent[0].message_id
    assert sent.attempt == 1


def test_codes_in_a_text_stay_text(service: Service, napcat: NapCatStandIn) -> None:
    (row,) = service.enqueue("[CQ:at,qq=all] &#91;x&#93; [CQ:image,file=http://x/]")

    service.wait_row(row, "sent")

    (message,) = napcat.sent
    assert [segment["type"] for segment in message.segments] == ["text"]
    assert message.segments[0]["data"]["text"].startswith("[CQ:at,qq=all]")


def test_a_reply_quotes_and_mentions_by_id(service: Service, napcat: NapCatStandIn) -> None:
    asked = napcat.say(MING, "在吗", mention=True)
    (row,) = service.enqueue("在", reply_to=MessageId(asked.message_id), at_user=UserId(MING))

    service.wait_row(row, "sent")

    kinds = [segment["type"] for segment in napcat.sent[0].segments]
    assert kinds == ["reply", "at", "text"]


def test_a_quote_that_napcat_forgot_costs_only_the_quote(
    service: Service, napcat: NapCatStandIn
) -> None:
    asked = napcat.say(MING, "在吗")
    napcat.forget_ids()
    (row,) = service.enqueue("在", reply_to=MessageId(asked.message_id))

    service.wait_row(row, "sent")

    assert service.sent_texts() == ["在"]


def test_a_mention_of_somebody_who_left_costs_only_the_mention(
    service: Service, napcat: NapCatStandIn
) -> None:
    (row,) = service.enqueue("在", at_user=UserId(39999))

    service.wait_row(row, "sent")

    assert [segment["type"] for segment in napcat.sent[0].segments] == ["text"]


def test_a_long_text_comes_in_numbered_parts_in_order(service: Service) -> None:
    ids = service.enqueue("\n".join(f"第{n}行，{'字' * 60}" for n in range(60)))

    for row in ids:
        service.wait_row(row, "sent")

    texts = service.sent_texts()
    assert len(texts) == len(ids) > 2
    assert [text[:5] for text in texts] == [f"({n}/{len(ids)})" for n in range(1, len(ids) + 1)]


def test_sends_keep_their_pace(napcat: NapCatStandIn, tmp_path: Path) -> None:
    settings = replace(QUICK_OUTBOX, pace_s=0.15)
    with Service(napcat, tmp_path / "db" / "p.sqlite3", outbox=settings) as service:
        rows = [service.enqueue(f"第{n}条")[0] for n in range(4)]
        for row in rows:
            service.wait_row(row, "sent")
        attempts = [service.row(row).attempted_at_ms or 0 for row in rows]

    assert all(later - earlier >= 140 for earlier, later in pairwise(attempts))


def test_no_more_than_so_many_go_out_in_a_minute(napcat: NapCatStandIn, tmp_path: Path) -> None:
    settings = replace(QUICK_OUTBOX, per_minute=3)
    with Service(napcat, tmp_path / "db" / "p.sqlite3", outbox=settings) as service:
        rows = [service.enqueue(f"第{n}条")[0] for n in range(4)]
        service.wait_row(rows[2], "sent")
        service.barrier()

        assert service.row(rows[3]).state == "queued"
        assert len(napcat.sent) == 3


def test_our_message_may_show_before_its_answer(service: Service, napcat: NapCatStandIn) -> None:
    napcat.faults.next_calls(SelfMessageFirst())
    (row,) = service.enqueue("先到的事件")

    sent = service.wait_row(row, "sent")
    (later,) = service.enqueue("下一条")
    service.wait_row(later, "sent")

    assert sent.sent_message_id == napcat.sent[0].message_id
    assert service.sent_texts() == ["先到的事件", "下一条"]


def test_a_text_that_napcat_cannot_take_is_refused_and_not_retried(
    service: Service, napcat: NapCatStandIn
) -> None:
    napcat.faults.next_calls(FailWith(text="消息体无法解析, 请检查是否发送了不支持的消息类型"))
    (row,) = service.enqueue("x")

    refused = service.wait_row(row, "refused")

    assert refused.attempt == 1
    assert napcat.sent == ()


def test_what_was_surely_not_sent_is_tried_five_times(
    service: Service, napcat: NapCatStandIn
) -> None:
    napcat.faults.next_calls(*[FailWith(text="不支持的API", retcode=1404)] * 5)
    (row,) = service.enqueue("x")

    dead = service.wait_row(row, "dead")

    assert dead.attempt == 5
    assert ("delivery_failed", {"outbox": row}) in service.alerts


def test_a_busy_member_hears_so_once_in_a_while(service: Service, napcat: NapCatStandIn) -> None:
    first = service.enqueue("忙", kind=OutboxKind.busy, at_user=UserId(MING))[0]
    service.wait_row(first, "sent")

    again = service.enqueue("忙", kind=OutboxKind.busy, at_user=UserId(MING))[0]
    other = service.enqueue("忙", kind=OutboxKind.busy, at_user=UserId(HONG))[0]

    assert service.wait_row(again, "refused").last_error == "coalesced"
    service.wait_row(other, "sent")


def test_a_napcat_that_reports_no_own_messages_is_noticed(
    napcat: NapCatStandIn, tmp_path: Path
) -> None:
    settings = replace(QUICK_OUTBOX, own_message_missing_after_s=0.1)
    with Service(napcat, tmp_path / "db" / "p.sqlite3", outbox=settings) as service:
        napcat.faults.next_calls(NoSelfMessage())
        (row,) = service.enqueue("x")
        service.wait_row(row, "sent")

        eventually(lambda: ("own_messages_missing", {}) in service.alerts)


def test_own_messages_out_of_the_history_do_not_pass_for_reports(tmp_path: Path) -> None:
    quiet = NapCatSettings(heartbeat_interval_ms=200, reports_own_messages=False)
    settings = replace(QUICK_OUTBOX, own_message_missing_after_s=0.2)
    with (
        NapCatStandIn(settings=quiet) as napcat,
        Service(napcat, tmp_path / "db" / "p.sqlite3", outbox=settings) as service,
    ):
        service.wait_row(service.enqueue("早先的")[0], "sent")
        service.restart()
        service.alerts.clear()
        service.wait_row(service.enqueue("新的")[0], "sent")

        eventually(lambda: ("own_messages_missing", {}) in service.alerts)


@pytest.mark.evidence(5)
def test_a_secret_that_an_older_rule_set_missed_leaves_redacted(
    service: Service, napcat: NapCatStandIn
) -> None:
    secret = "ghp_" + "Zx8Kq2Lm9Vb4Nc7Rt5Yw1Pd6Hs3Jf0Gu8Ae2"
    row = service.enqueue_unscanned(f"token 是 {secret} 。")

    assert service.wait_row(row, "refused").last_error == "scan_found"
    (message,) = eventually(lambda: napcat.sent)

    assert secret not in message.text
    assert message.text.startswith("token 是 ")
    assert ("withheld", {"outbox": row}) in service.alerts


def test_an_approval_question_that_cannot_be_delivered_is_reported(
    service: Service, napcat: NapCatStandIn
) -> None:
    napcat.faults.next_calls(FailWith(text="消息体无法解析, 请检查是否发送了不支持的消息类型"))
    ids = {"task_id": TaskId("T-ABCDEF"), "ticket_id": TicketId("K7Q2M")}
    (row,) = service.enqueue("请审批", kind=OutboxKind.approval, **ids)

    service.wait_row(row, "refused")

    eventually(lambda: service.undeliverable)
    assert service.undeliverable == [(ids["task_id"], ids["ticket_id"], "refused_content")]


def test_beyond_four_parts_the_group_reads_a_plain_hint(service: Service) -> None:
    ids = service.enqueue("\n".join(f"第{n}行，{'字' * 60}" for n in range(200)))

    for row in ids:
        service.wait_row(row, "sent")

    texts = service.sent_texts()
    assert len(texts) == 4
    assert "只发出前 4 条" in texts[-1]
