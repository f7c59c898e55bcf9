"""What was said while we were away is read back; what cannot be is said (S11, S12)."""

from dataclasses import replace

import pytest

from perlica.clients.napcat import CatchUpSettings, Gap, InboundQueue
from perlica.demo.napcat import Message, NapCatStandIn
from perlica.demo.napcat.faults import CloseAtOnce, CutFrame, Drop, FailWith, StallHandshake
from tests.napcat.rig import (
    BOT,
    MING,
    OTHER_GROUP,
    LinkRig,
    MemoryPosition,
    eventually,
    settings_for,
)

HISTORY = "get_group_msg_history"


def _be_away(rig: LinkRig, napcat: NapCatStandIn, messages: int) -> list[Message]:
    """Cut the line, let members talk, and let the line come back."""
    ready = rig.states.count((True, "ready"))
    napcat.faults.next_connections(StallHandshake(), CloseAtOnce())
    napcat.cut_connections()
    eventually(lambda: not napcat.connections)
    said = [napcat.say(MING, f"错过的 {number}") for number in range(messages)]
    rig.wait_ready(ready + 1)
    return said


@pytest.mark.evidence(20)
def test_what_was_missed_comes_from_the_history_in_order(napcat: NapCatStandIn) -> None:
    with LinkRig(settings_for(napcat, connect_within_s=0.2)) as rig:
        rig.wait_ready()
        napcat.say(MING, "之前")
        rig.wait_text("之前")

        said = _be_away(rig, napcat, 35)

        rig.wait_text("错过的 34")
        missed = [item for item in rig.taken() if item.from_history]
        texts = [item.frame["raw_message"] for item in missed]
        assert [text for text in texts if "错过" in text] == [message.text for message in said]
        assert rig.position.gaps == []


def test_a_message_lost_in_a_torn_frame_comes_from_the_history(napcat: NapCatStandIn) -> None:
    with LinkRig(settings_for(napcat)) as rig:
        rig.wait_ready()
        napcat.say(MING, "之前")
        rig.wait_text("之前")
        napcat.faults.next_events(CutFrame(then="close"))

        napcat.say(MING, "撕裂的")

        assert rig.wait_text("撕裂的").from_history


def test_a_message_in_a_frame_that_stalls_comes_from_the_history(napcat: NapCatStandIn) -> None:
    settings = settings_for(napcat, ping_every_s=0.1, dead_after_s=0.4)
    with LinkRig(settings) as rig:
        rig.wait_ready()
        napcat.say(MING, "之前")
        rig.wait_text("之前")
        napcat.faults.next_events(CutFrame(then="stall"))

        napcat.say(MING, "卡住的")

        assert rig.wait_text("卡住的").from_history


@pytest.mark.evidence(1)
def test_only_our_group_is_read_back(napcat: NapCatStandIn) -> None:
    with LinkRig(settings_for(napcat, connect_within_s=0.2)) as rig:
        rig.wait_ready()
        napcat.say(MING, "之前")
        rig.wait_text("之前")
        napcat.say(MING, "外群", group=OTHER_GROUP)
        _be_away(rig, napcat, 1)
        rig.wait_text("错过的 0")

        calls = [call for call in napcat.calls if call.action == HISTORY]
        assert {str(call.params["group_id"]) for call in calls} == {str(napcat.group_id)}
        assert not any("外群" in text for text in rig.texts())


def test_the_position_is_held_until_what_was_missed_is_stored(napcat: NapCatStandIn) -> None:
    position = MemoryPosition(stored=5000)
    for number in range(5):
        napcat.say(MING, f"旧 {number}")
    with LinkRig(settings_for(napcat, recheck_s=0.05), position=position) as rig:
        rig.wait_ready()
        eventually(lambda: rig.queue.waiting_frames == 5)

        assert position.held == 5000
        assert position.releases == 0

        rig.taken()
        eventually(lambda: position.releases == 1)


def test_a_crash_in_the_middle_of_a_catch_up_loses_nothing(napcat: NapCatStandIn) -> None:
    position = MemoryPosition(stored=5000)
    old = [napcat.say(MING, f"旧 {number}") for number in range(5)]
    with LinkRig(settings_for(napcat), position=position) as rig:
        rig.wait_ready()
        position.stored = napcat.say(MING, "新").real_seq

    with LinkRig(settings_for(napcat), position=position) as rig:
        rig.wait_text(old[-1].text)

        assert [text for text in rig.texts() if "旧" in text] == [m.text for m in old]


@pytest.mark.evidence(20)
def test_a_crash_after_a_command_overtook_a_flood_loses_nothing(napcat: NapCatStandIn) -> None:
    position = MemoryPosition()
    with LinkRig(settings_for(napcat), position=position) as rig:
        rig.wait_settled()
        napcat.say(MING, "之前")
        rig.wait_text("之前")
        said = [napcat.say(MING, f"洪水 {number}") for number in range(30)]
        command = napcat.say(MING, ".status")
        eventually(lambda: rig.queue.waiting_frames == 31)

        assert rig.queue.drain(1)[0].frame["raw_message"] == ".status"
        position.stored = command.real_seq

    with LinkRig(settings_for(napcat), position=position) as rig:
        eventually(lambda: {message.text for message in said} <= set(rig.texts()))
        assert position.gaps == []


def test_a_flood_that_was_overtaken_is_held_until_it_is_stored(napcat: NapCatStandIn) -> None:
    with LinkRig(settings_for(napcat)) as rig:
        rig.wait_settled()
        before = napcat.say(MING, "之前")
        rig.wait_text("之前")
        napcat.say(MING, "等着")
        napcat.say(MING, ".status")
        eventually(lambda: rig.queue.waiting_frames == 2)
        held = rig.position.held

        rig.taken()
        eventually(lambda: rig.position.held is None)

        assert held == before.real_seq
        assert sum(call.action == HISTORY for call in napcat.calls) == 1


def test_a_first_start_reads_one_page(napcat: NapCatStandIn) -> None:
    for number in range(30):
        napcat.say(MING, f"往事 {number}")
    with LinkRig(settings_for(napcat)) as rig:
        rig.wait_text("往事 29")

        assert len(rig.texts()) == 10
        assert rig.position.gaps == []


def test_what_lies_beyond_the_bound_is_a_gap(napcat: NapCatStandIn) -> None:
    bounds = CatchUpSettings(page_messages=10, max_messages=20, overlap_messages=2)
    position = MemoryPosition(stored=5000)
    said = [napcat.say(MING, f"多 {number}") for number in range(60)]
    with LinkRig(settings_for(napcat, catch_up=bounds), position=position) as rig:
        rig.wait_text("多 59")
        (gap,) = eventually(lambda: position.gaps)

        first_read = min(int(item.frame["real_seq"]) for item in rig.taken())
        assert gap == Gap(after_seq=5000, before_seq=first_read, reason="beyond_count")
        assert first_read > said[30].real_seq


def test_what_is_too_old_is_a_gap(napcat: NapCatStandIn) -> None:
    bounds = CatchUpSettings(page_messages=5, max_age_s=3600)
    position = MemoryPosition(stored=5000)
    for number in range(10):
        napcat.say(MING, f"很旧 {number}", sent_at_s=1_700_000_000 + number)
    for number in range(5):
        napcat.say(MING, f"新 {number}")
    settings = settings_for(napcat, catch_up=replace(bounds, overlap_messages=0))
    with LinkRig(settings, position=position) as rig:
        rig.wait_text("新 4")

        (gap,) = eventually(lambda: position.gaps)
        assert (gap.after_seq, gap.reason) == (5000, "beyond_age")


def test_what_is_too_old_never_comes_back_from_the_history(napcat: NapCatStandIn) -> None:
    """Retention may have deleted it: a page of the history must not bring it in again."""
    for number in range(5):
        napcat.say(MING, f"很旧 {number}", sent_at_s=1_700_000_000 + number)
    napcat.say(MING, "新")
    with LinkRig(settings_for(napcat)) as rig:
        rig.wait_text("新")

        assert rig.texts() == ["新"]


def test_numbers_that_went_back_make_nobody_deaf(napcat: NapCatStandIn) -> None:
    position = MemoryPosition(stored=2**62)
    for number in range(5):
        napcat.say(MING, f"第 {number} 句")
    with LinkRig(settings_for(napcat), position=position) as rig:
        rig.wait_text("第 4 句")
        (gap,) = eventually(lambda: position.gaps)

        assert len(rig.texts()) == 5
        assert gap == Gap(after_seq=2**62, before_seq=None, reason="went_back")


def test_a_history_that_fails_three_times_is_a_gap(napcat: NapCatStandIn) -> None:
    napcat.faults.next_calls(*[FailWith(text="broken")] * 3, action=HISTORY)
    position = MemoryPosition(stored=5000)
    with LinkRig(settings_for(napcat, recheck_s=0.05), position=position):
        (gap,) = eventually(lambda: position.gaps)

        assert gap == Gap(after_seq=5000, before_seq=None, reason="unreadable")


def test_a_history_that_fails_once_is_read_again(napcat: NapCatStandIn) -> None:
    napcat.faults.next_calls(FailWith(text="busy"), action=HISTORY)
    position = MemoryPosition(stored=5000)
    napcat.say(MING, "旧")
    with LinkRig(settings_for(napcat, recheck_s=0.05), position=position) as rig:
        rig.wait_text("旧")

        assert position.gaps == []


def test_numbers_that_the_history_skips_are_told(napcat: NapCatStandIn) -> None:
    with LinkRig(settings_for(napcat)) as rig:
        rig.wait_ready()
        before = napcat.say(MING, "之前")
        rig.wait_text("之前")
        napcat.go_offline()
        eventually(lambda: not rig.link.is_ready)
        napcat.say(MING, "离线时说的")
        napcat.come_online()
        after = napcat.say(MING, "之后")
        rig.wait_text("之后")
        rig.wait_ready(2)
        gaps = eventually(lambda: rig.position.gaps)

        assert gaps[0] == Gap(
            after_seq=before.real_seq, before_seq=after.real_seq, reason="not_in_history"
        )


@pytest.mark.parametrize("frames", [20, 64])
def test_a_full_queue_reconnects_and_loses_nothing(napcat: NapCatStandIn, frames: int) -> None:
    with LinkRig(
        settings_for(napcat, catch_up=CatchUpSettings(page_messages=50, max_messages=1000)),
        queue=InboundQueue(most_frames=frames),
    ) as rig:
        rig.wait_ready()
        napcat.say(MING, "之前")
        rig.wait_text("之前")

        said = [napcat.say(MING, f"洪水 {number}") for number in range(300)]
        rig.wait_state("overflow")

        eventually(lambda: {message.text for message in said} <= set(rig.texts()))
        assert rig.position.gaps == []


def test_a_flood_is_held_back_before_anything_is_dropped(napcat: NapCatStandIn) -> None:
    settings = settings_for(napcat, queue_patience_s=5.0)
    with LinkRig(settings, queue=InboundQueue(most_frames=50)) as rig:
        rig.wait_settled()

        said = [napcat.say(MING, f"洪水 {number}") for number in range(1_000)]

        eventually(lambda: len(rig.texts()) >= len(said))
        assert rig.texts() == [message.text for message in said]
        assert napcat.connection_count == 1


def test_a_page_that_no_frame_holds_is_read_in_smaller_ones(napcat: NapCatStandIn) -> None:
    with LinkRig(settings_for(napcat, frame_limit_bytes=100_000)) as rig:
        rig.wait_settled()
        napcat.say(MING, "之前")
        rig.wait_text("之前")
        napcat.faults.next_connections(*[StallHandshake()] * 3)
        napcat.cut_connections()
        eventually(lambda: not napcat.connections)

        said = [napcat.say(MING, f"{number}" + "x" * 20_000) for number in range(8)]

        eventually(lambda: {message.text for message in said} <= set(rig.texts()))
        eventually(lambda: rig.position.held is None)
        assert rig.position.gaps == []


def test_a_message_that_no_frame_holds_is_a_gap_and_makes_nobody_deaf(
    napcat: NapCatStandIn,
) -> None:
    with LinkRig(settings_for(napcat, frame_limit_bytes=100_000)) as rig:
        rig.wait_settled()
        known = napcat.say(MING, "之前")
        rig.wait_text("之前")

        huge = napcat.say(MING, "x" * 200_000)
        rig.wait_state("too_large")
        after = [napcat.say(MING, f"之后 {number}") for number in range(5)]

        eventually(lambda: {message.text for message in after} <= set(rig.texts()))
        eventually(lambda: rig.position.held is None)
        (gap,) = rig.position.gaps
        assert gap.after_seq == known.real_seq
        assert gap.reason == "unreadable"
        assert huge.text not in rig.texts()


def test_a_full_queue_by_bytes_reconnects_too(napcat: NapCatStandIn) -> None:
    with LinkRig(settings_for(napcat), queue=InboundQueue(most_bytes=50_000)) as rig:
        rig.wait_ready()
        napcat.say(MING, "之前")
        rig.wait_text("之前")

        said = [napcat.say(MING, f"{number}" + "字" * 4_000) for number in range(30)]
        rig.wait_state("overflow")

        eventually(lambda: {message.text for message in said} <= set(rig.texts()))


def test_while_draining_members_wait_for_the_next_start(napcat: NapCatStandIn) -> None:
    position = MemoryPosition()
    with LinkRig(settings_for(napcat), position=position) as rig:
        rig.wait_ready()
        napcat.say(MING, "之前")
        rig.wait_text("之前")
        rig.link.stop_intake()
        late = napcat.say(MING, "停机时的")
        napcat.say(BOT, "自己的")
        rig.wait_text("自己的")

        assert late.text not in rig.texts()
        assert position.held is not None

    with LinkRig(settings_for(napcat), position=position) as rig:
        assert rig.wait_text(late.text).from_history


def test_an_event_that_napcat_lost_is_found_at_the_next_catch_up(napcat: NapCatStandIn) -> None:
    with LinkRig(settings_for(napcat)) as rig:
        rig.wait_ready()
        napcat.say(MING, "之前")
        rig.wait_text("之前")
        napcat.faults.next_events(Drop())
        napcat.say(MING, "丢了的")
        napcat.say(MING, "之后")
        rig.wait_text("之后")

        napcat.cut_connections()

        assert rig.wait_text("丢了的").from_history
