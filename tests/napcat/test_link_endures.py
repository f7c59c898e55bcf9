"""What one frame may cost, what is read before anything is sent, and what proves a membership."""

import logging
import zlib
from pathlib import Path

import pytest

from perlica.app.logs.lines import LineFormatter
from perlica.demo.napcat import NapCatStandIn
from perlica.demo.napcat.faults import FailWith, NeverAnswer, Refuse, StallHandshake
from tests.napcat.rig import (
    BOT,
    MING,
    OTHER_GROUP,
    OUR_GROUP,
    LinkRig,
    Service,
    eventually,
    settings_for,
)

BINARY, COMPRESSED, COMPRESSED_BINARY = 0x82, 0xC1, 0xC2
HISTORY, MEMBER_INFO, SEND = "get_group_msg_history", "get_group_member_info", "send_group_msg"

UNREADABLE = {
    "compressed": (zlib.compress(b'{"post_type":"message"}'), COMPRESSED),
    "compressed, large": (b"\x00\xff" * 40_000, COMPRESSED),
    "binary, no UTF-8": (b"\x89PNG\r\n\x1a\n\xff\xfe", BINARY),
    "binary and compressed": (b"\x78\x9c\xab\x56", COMPRESSED_BINARY),
    "text, no UTF-8": (b"\xff\xfe", 0x81),
}


@pytest.mark.parametrize(("payload", "first"), UNREADABLE.values(), ids=UNREADABLE.keys())
def test_a_frame_that_cannot_be_read_costs_itself_and_not_the_link(
    napcat: NapCatStandIn, payload: bytes, first: int
) -> None:
    with LinkRig(settings_for(napcat)) as rig:
        rig.wait_settled()
        napcat.inject_bytes(payload, first)
        napcat.say(MING, "后面的消息")
        rig.wait_text("后面的消息")

        assert napcat.connection_count == 1
        assert rig.link.dropped.malformed == 1


def test_what_was_dropped_stands_in_the_line_that_tells_of_the_links_end(
    napcat: NapCatStandIn, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.INFO)
    with LinkRig(settings_for(napcat)) as rig:
        rig.wait_settled()
        for number in range(7):
            napcat.say(MING, f"外群 {number}", group=OTHER_GROUP)
        for _ in range(5):
            napcat.inject_text("{")
        napcat.inject_oversized(settings_for(napcat).frame_limit_bytes + 1)
        rig.wait_state("too_large")
    (record, *_) = [r for r in caplog.records if r.getMessage() == "napcat link ended"]

    line = LineFormatter().format(record)

    assert '"other_groups":7' in line
    assert '"malformed":5' in line
    assert '"too_large":1' in line


def test_a_single_message_behind_one_that_no_frame_holds_is_heard(napcat: NapCatStandIn) -> None:
    with LinkRig(settings_for(napcat, frame_limit_bytes=100_000)) as rig:
        rig.wait_settled()
        napcat.say(MING, "之前")
        rig.wait_text("之前")
        napcat.faults.next_connections(*[StallHandshake()] * 3)
        napcat.say(MING, "x" * 200_000)
        rig.wait_state("too_large")

        napcat.say(MING, ".cancel")

        rig.wait_text(".cancel")


@pytest.mark.evidence(20)
def test_nothing_is_sent_before_the_history_of_the_gap_was_read(
    napcat: NapCatStandIn, tmp_path: Path
) -> None:
    with Service(napcat, tmp_path / "db" / "p.sqlite3") as service:
        service.wait_row(service.enqueue("之前")[0], "sent")
        napcat.faults.next_connections(*[StallHandshake()] * 3)
        napcat.cut_connections()
        (row,) = service.enqueue("断线时排队的")
        reads = [call.action for call in napcat.calls].count(HISTORY)
        service.wait_row(row, "sent")

    actions = [call.action for call in napcat.calls]
    last_send = len(actions) - 1 - actions[::-1].index(SEND)
    assert actions[:last_send].count(HISTORY) > reads


def test_a_history_that_cannot_be_read_does_not_keep_us_silent_for_ever(
    napcat: NapCatStandIn, tmp_path: Path
) -> None:
    napcat.faults.next_calls(*[FailWith(text="no")] * 50, action=HISTORY)
    with Service(napcat, tmp_path / "db" / "p.sqlite3") as service:
        (row,) = service.enqueue("还是要说")

        service.wait_row(row, "sent")


def test_a_removal_whose_notice_was_lost_is_seen_by_asking(napcat: NapCatStandIn) -> None:
    with LinkRig(settings_for(napcat, recheck_s=0.05)) as rig:
        rig.wait_ready()
        napcat.remove_bot(is_noticed=False)

        rig.wait_state("not_a_member")

        assert not rig.link.is_ready


def test_a_refusal_that_tells_of_a_removal_makes_readiness_red_until_membership_is_proved(
    napcat: NapCatStandIn, tmp_path: Path
) -> None:
    with Service(napcat, tmp_path / "db" / "p.sqlite3") as service:
        service.wait_row(service.enqueue("之前")[0], "sent")
        napcat.remove_bot(is_noticed=False)
        (row,) = service.enqueue("被移出")
        eventually(lambda: (False, "removed") in service.states)
        eventually(lambda: (False, "not_a_member") in service.states)
        assert service.row(row).state == "queued"

        napcat.take_bot_back()

        service.wait_row(row, "sent")


def test_a_member_list_that_lags_behind_starts_no_flood_of_refusals(
    napcat: NapCatStandIn, tmp_path: Path
) -> None:
    """NapCat still calls us a member, QQ refuses: one try in each hold, not one after another."""
    napcat.faults.next_calls(*[Refuse(result=110)] * 1000, action=SEND)
    with Service(napcat, tmp_path / "db" / "p.sqlite3", removed_hold_s=30.0) as service:
        service.enqueue("被移出")
        eventually(lambda: (False, "removed") in service.states)
        service.barrier()
        service.barrier()

    assert [call.action for call in napcat.calls].count(SEND) == 1


def test_a_member_list_that_does_not_answer_proves_nothing(napcat: NapCatStandIn) -> None:
    with LinkRig(settings_for(napcat, recheck_s=0.05)) as rig:
        rig.wait_ready()
        napcat.faults.next_calls(*[NeverAnswer()] * 2, action=MEMBER_INFO)

        rig.wait_state("no_member_info")


def test_the_membership_is_asked_of_qq_and_not_of_a_cache(napcat: NapCatStandIn) -> None:
    with LinkRig(settings_for(napcat)) as rig:
        rig.wait_ready()

    (asked, *_) = [call for call in napcat.calls if call.action == MEMBER_INFO]
    assert asked.params["no_cache"] is True
    assert (asked.params["group_id"], asked.params["user_id"]) == (str(OUR_GROUP), str(BOT))
