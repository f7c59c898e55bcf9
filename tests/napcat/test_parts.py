"""Small parts with rules of their own: queue, calls, pace, holds, backoff, our own messages."""

import threading

import pytest

from actors.messages import SelfMessageSeen
from actors.outbox.own_messages import OwnMessages
from perlica.clients.napcat import (
    Answer,
    Backoff,
    Holds,
    InboundFrame,
    InboundQueue,
    Pace,
    bound_after,
)
from perlica.clients.napcat.calls import CallTable
from perlica.domain.ids import MessageId


def item(size_bytes: int = 1) -> InboundFrame:
    return InboundFrame(frame={"raw_message": "秘密"}, size_bytes=size_bytes)


# -- the inbound queue -------------------------------------------------------------------------


def test_the_bell_rings_once_until_somebody_drains() -> None:
    queue, rings = InboundQueue(), []

    for _ in range(3):
        queue.put(item(), lambda: rings.append(1))
    queue.drain(1)
    queue.put(item(), lambda: rings.append(1))

    assert len(rings) == 2


def test_a_full_queue_says_so_and_keeps_what_it_has() -> None:
    queue = InboundQueue(most_frames=2)

    assert [queue.put(item(), lambda: None) for _ in range(3)] == [True, True, False]
    assert len(queue.drain(10)) == 2


def test_bytes_bound_the_queue_but_one_frame_always_fits() -> None:
    queue = InboundQueue(most_bytes=10)

    assert queue.put(item(100), lambda: None)
    assert not queue.put(item(1), lambda: None)
    queue.drain(10)
    assert queue.put(item(1), lambda: None)


def test_a_frame_is_settled_when_the_next_drain_is_asked_for() -> None:
    queue = InboundQueue()
    mark = queue.put_history([item(), item()], lambda: None, lambda: False)
    assert mark is not None

    queue.drain(10)
    before = queue.is_settled(mark, 0, lambda: False)
    queue.drain(10)

    assert not before
    assert queue.is_settled(mark, 0, lambda: False)


def test_history_leaves_half_of_the_room_to_the_present() -> None:
    queue = InboundQueue(most_frames=10)
    given_up = threading.Event()
    thread = threading.Thread(
        target=queue.put_history, args=([item()] * 20, lambda: None, given_up.is_set)
    )
    thread.start()

    assert queue.put(item(), lambda: None)
    given_up.set()
    thread.join(5)
    assert queue.waiting_frames <= 7


def test_history_that_fits_waits_whole_when_the_bell_rings() -> None:
    queue = InboundQueue()
    seen: list[int] = []

    queue.put_history([item()] * 100, lambda: seen.append(len(queue.drain(1_000))), lambda: False)

    assert seen == [100]


def test_urgent_frames_are_drained_first_and_each_kind_in_order() -> None:
    queue = InboundQueue()
    for number, is_urgent in enumerate([False, True, False, True]):
        frame = InboundFrame(frame={"number": number})
        queue.put(frame, lambda: None, is_urgent=is_urgent)

    drained = [*queue.drain(3), *queue.drain(3)]

    assert [item.frame["number"] for item in drained] == [1, 3, 0, 2]


def test_urgent_frames_do_not_pass_for_the_history_before_them() -> None:
    queue = InboundQueue()
    mark = queue.put_history([item(), item()], lambda: None, lambda: False)
    assert mark is not None
    for _ in range(3):
        queue.put(item(), lambda: None, is_urgent=True)

    queue.drain(3)
    queue.drain(1)

    assert not queue.is_settled(mark, 0, lambda: False)


def test_a_frame_comes_out_as_it_went_in() -> None:
    queue = InboundQueue()
    frame = {"text": "\ud800\x00😀", "big": 10**30, "list": [None, True, 1.5, {"deep": []}]}
    queue.put(InboundFrame(frame=frame, from_history=True, size_bytes=7), lambda: None)

    (drained,) = queue.drain(1)

    assert drained == InboundFrame(frame=frame, from_history=True, size_bytes=7)


def test_a_frame_does_not_show_its_content() -> None:
    assert "秘密" not in repr(item())


# -- calls -------------------------------------------------------------------------------------


def test_a_call_is_answered_once() -> None:
    table = CallTable()
    answers: list[Answer] = []
    table.open("e", 1e12, answers.append)

    table.finish("e", Answer(wrote=True, response={}))
    table.finish("e", Answer(wrote=True, response=None, fault="late"))
    table.end("dropped")

    assert answers == [Answer(wrote=True, response={})]


def test_a_call_that_is_being_written_at_the_end_is_answered_by_its_writer() -> None:
    table = CallTable()
    answers: list[Answer] = []
    table.open("e", 1e12, answers.append)

    table.end("dropped")
    nobody_yet = list(answers)
    table.mark_written("e")

    assert nobody_yet == []
    assert answers == [Answer(wrote=True, response=None, fault="dropped")]


def test_no_call_opens_after_the_end_or_under_a_used_echo() -> None:
    table = CallTable()

    assert table.open("e", 1e12, lambda _: None)
    assert not table.open("e", 1e12, lambda _: None)
    table.end("dropped")
    assert not table.open("f", 1e12, lambda _: None)


# -- pace, holds, backoff ----------------------------------------------------------------------


def test_the_pace_bounds_two_sends_and_a_minute() -> None:
    pace = Pace(1.5, 3)

    waits = []
    for at in (0.0, 1.5, 3.0):
        waits.append(pace.wait_s(at))
        pace.note(at)

    assert waits == [0.0, 0.0, 0.0]
    assert pace.wait_s(3.5) == pytest.approx(56.5)
    assert pace.wait_s(60.0) == 0.0


def test_holds_run_out_or_are_lifted() -> None:
    holds = Holds()
    holds.add("muted", 10.0)
    holds.add("offline", 5.0)

    assert set(holds.active(1.0)) == {"muted", "offline"}
    assert holds.active(6.0) == ("muted",)
    holds.lift("muted", "unheard of")
    assert holds.active(6.0) == ()


def test_the_backoff_doubles_to_its_cap_with_full_jitter() -> None:
    backoff = Backoff(0.5, 30.0)
    waits = [backoff.next_s() for _ in range(40)]
    backoff.reset()

    assert all(0 <= wait <= bound_after(n, 0.5, 30.0) for n, wait in enumerate(waits))
    assert [bound_after(n, 0.5, 30.0) for n in (0, 1, 5, 6, 10_000)] == [0.5, 1, 16, 30, 30]
    assert backoff.next_s() <= 0.5


# -- our own messages --------------------------------------------------------------------------


def seen(message_id: int, sent_at_ms: int = 1_000_000) -> SelfMessageSeen:
    return SelfMessageSeen(
        message_id=MessageId(message_id), text_sha256="0" * 64, sent_at_ms=sent_at_ms
    )


def test_missing_events_are_said_once_and_forgiven_when_one_comes() -> None:
    own = OwnMessages(missing_after_s=30)
    own.note_sent(MessageId(1), 0.0)

    assert not own.has_gone_missing(29.0)
    assert own.has_gone_missing(31.0)
    assert not own.has_gone_missing(60.0)
    assert own.is_degraded
    own.note_seen()
    assert not own.is_degraded


def test_an_event_whose_answer_comes_later_is_no_outsider() -> None:
    own = OwnMessages(missing_after_s=30)
    own.keep_unmatched(seen(1), 0.0)
    own.keep_unmatched(seen(2), 0.0)

    own.note_sent(MessageId(1), 5.0)

    assert own.take_outsiders(10.0, 1_000_000) == []
    assert own.take_outsiders(40.0, 1_000_000) == [2]
    assert own.take_outsiders(80.0, 1_000_000) == []


def test_messages_from_long_before_are_no_outsiders() -> None:
    own = OwnMessages(missing_after_s=30)
    own.keep_unmatched(seen(1, sent_at_ms=0), 0.0)

    assert own.take_outsiders(40.0, 10_000_000) == []
