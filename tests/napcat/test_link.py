"""The link stays up, trusts only the right account, and lets nothing of another group through."""

import logging
import socket
import threading
import time
from collections.abc import Iterator

import pytest

from perlica.clients.napcat import Answer
from perlica.clients.onebot import build_call
from perlica.demo.napcat import NapCatStandIn, Settings
from perlica.demo.napcat.faults import AnswerLate, AnswerTwice, FailWith, NeverAnswer, RejectToken
from perlica.domain.errors import Refused
from perlica.domain.ids import GroupId, UserId
from tests.napcat.bare import bare_settings, message_frame
from tests.napcat.peers import ScriptedServer, accept_upgrade, frame
from tests.napcat.rig import (
    BOT,
    MING,
    OTHER_GROUP,
    OUR_GROUP,
    LinkRig,
    eventually,
    settings_for,
)

MARKER = "外群标记-4f7c"
LIFECYCLE = (
    b'{"time":1796028325,"self_id":10000,"post_type":"meta_event",'
    b'"meta_event_type":"lifecycle","sub_type":"connect"}'
)


@pytest.fixture
def rig(napcat: NapCatStandIn) -> Iterator[LinkRig]:
    with LinkRig(settings_for(napcat)) as started:
        started.wait_settled()
        yield started


# -- the group boundary ------------------------------------------------------------------------


def test_messages_and_notices_of_our_group_come_through(
    rig: LinkRig, napcat: NapCatStandIn
) -> None:
    said = napcat.say(MING, "你好", mention=True)
    napcat.recall(said)
    napcat.say(BOT, "从手机")

    eventually(lambda: len(rig.taken()) == 3)

    kinds = [item.frame["post_type"] for item in rig.taken()]
    assert kinds == ["message", "notice", "message_sent"]


@pytest.mark.evidence(1)
def test_other_groups_leave_nothing_in_queue_or_logs(
    napcat: NapCatStandIn, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.DEBUG)
    with LinkRig(settings_for(napcat)) as rig:
        rig.wait_ready()
        napcat.say(MING, MARKER, group=OTHER_GROUP, mention=True)
        napcat.inject({**message_frame(napcat, MARKER), "group_id": str(OTHER_GROUP)})
        napcat.inject({**message_frame(napcat, MARKER), "group_id": None})
        napcat.inject({**message_frame(napcat, MARKER), "group_id": [OUR_GROUP]})
        napcat.inject({**message_frame(napcat, MARKER), "message_type": "private"})
        napcat.inject({**message_frame(napcat, MARKER), "self_id": 10001})
        napcat.say(MING, "barrier")
        rig.wait_text("barrier")

        assert MARKER not in str([item.frame for item in rig.taken()])
        assert rig.link.dropped.other_groups == 4
    assert MARKER not in caplog.text
    assert napcat.token not in caplog.text


def test_ids_may_be_digit_strings(rig: LinkRig, napcat: NapCatStandIn) -> None:
    frame_of_strings = {
        **message_frame(napcat, "strings"),
        "group_id": str(OUR_GROUP),
        "self_id": str(BOT),
    }

    napcat.inject(frame_of_strings)

    rig.wait_text("strings")


@pytest.mark.parametrize(
    "garbage", ["{", "[]", '"x"', "null", "[" * 100_000, '{"a":' * 50_000, "1" * 10_000, ""]
)
def test_garbage_costs_itself_alone(rig: LinkRig, napcat: NapCatStandIn, garbage: str) -> None:
    napcat.inject_text(garbage)
    napcat.say(MING, "后面的消息")

    rig.wait_text("后面的消息")
    assert napcat.connection_count == 1


def test_colliding_ids_and_duplicates_all_reach_intake(rig: LinkRig, napcat: NapCatStandIn) -> None:
    first = napcat.say(MING, "甲")
    napcat.say(MING, "乙", message_id=first.message_id)
    napcat.redeliver(first)

    eventually(lambda: len(rig.texts()) == 3)

    assert rig.texts() == ["甲", "乙", "甲"]


# -- who is at the other end -------------------------------------------------------------------


def test_a_wrong_token_is_seen_and_tried_rarely(napcat: NapCatStandIn) -> None:
    with LinkRig(settings_for(napcat, token="wrong")) as rig:
        rig.wait_state("auth_failed")
        eventually(lambda: rig.link.reason == "auth_failed")

        assert not rig.link.is_ready
        assert napcat.calls == ()
        assert napcat.connection_count == 1


def test_a_token_that_is_right_again_is_tried_again(napcat: NapCatStandIn) -> None:
    napcat.faults.next_connections(RejectToken(), RejectToken())
    with LinkRig(settings_for(napcat, refused_retry_s=0.05)) as rig:
        rig.wait_ready()

        assert [reason for _, reason in rig.states] == ["auth_failed", "ready"]
        assert napcat.connection_count == 3


def test_another_account_is_never_ready(napcat: NapCatStandIn) -> None:
    with LinkRig(settings_for(napcat, self_id=UserId(10001))) as rig:
        rig.wait_state("wrong_account")
        napcat.say(MING, MARKER)
        eventually(lambda: napcat.connection_count > 2)

        assert rig.taken() == []
        assert not any(ready for ready, _ in rig.states)


def test_a_login_as_somebody_else_is_never_ready(napcat: NapCatStandIn) -> None:
    answer = FailWith(text="no login")
    napcat.faults.next_calls(answer, action="get_login_info")
    with LinkRig(settings_for(napcat)) as rig:
        rig.wait_state("no_login_info")
        rig.wait_ready()


def test_a_group_we_are_not_in_is_never_ready(napcat: NapCatStandIn) -> None:
    with LinkRig(settings_for(napcat, group_id=GroupId(600100777))) as rig:
        rig.wait_state("not_a_member")

        assert not rig.link.is_ready


def test_a_server_that_never_says_who_it_is_is_left() -> None:
    def mute(sock: socket.socket, head: bytes) -> None:
        accept_upgrade(sock, head)
        while sock.recv(4096):
            pass

    with ScriptedServer(mute) as server:
        settings = bare_settings(server.url(), lifecycle_within_s=0.1)
        with LinkRig(settings) as rig:
            rig.wait_state("no_lifecycle")
            eventually(lambda: len(server.heads) >= 3)


# -- staying alive -----------------------------------------------------------------------------


@pytest.mark.evidence(20)
def test_a_frozen_peer_is_left(napcat: NapCatStandIn) -> None:
    settings = settings_for(napcat, ping_every_s=0.1, dead_after_s=0.5)
    with LinkRig(settings) as rig:
        rig.wait_ready()
        napcat.freeze_connections()

        rig.wait_state("silent")
        rig.wait_ready(2)

        reasons = [reason for _, reason in rig.states]
        assert reasons.index("silent") > reasons.index("ready")


def test_a_quiet_peer_that_answers_pings_is_kept() -> None:
    pings = []

    def quiet(sock: socket.socket, head: bytes) -> None:
        accept_upgrade(sock, head)
        sock.sendall(frame(LIFECYCLE))
        while data := sock.recv(4096):
            if data[0] == 0x89:
                pings.append(data)
                sock.sendall(frame(b"", opcode=10))

    with ScriptedServer(quiet) as server:
        settings = bare_settings(
            server.url(), ping_every_s=0.05, dead_after_s=0.4, call_within_s=60.0
        )
        with LinkRig(settings):
            eventually(lambda: len(pings) >= 12)

            assert len(server.heads) == 1


def test_a_peer_that_drips_one_frame_for_ever_is_left() -> None:
    def drip(sock: socket.socket, head: bytes) -> None:
        accept_upgrade(sock, head)
        sock.sendall(frame(LIFECYCLE) + frame(b"x" * 60_000)[:10])
        while True:
            sock.sendall(b"x")
            threading.Event().wait(0.02)

    with ScriptedServer(drip) as server:
        settings = bare_settings(server.url(), ping_every_s=0.1, dead_after_s=0.4)
        with LinkRig(settings) as rig:
            rig.wait_state("silent")


def test_a_napcat_that_answers_nothing_is_left(napcat: NapCatStandIn) -> None:
    napcat.faults.next_calls(NeverAnswer(), action="get_login_info")
    napcat.faults.next_calls(NeverAnswer(), action="get_login_info")
    with LinkRig(settings_for(napcat, call_within_s=0.1)) as rig:
        rig.wait_state("unresponsive")
        rig.wait_ready()


@pytest.mark.evidence(20)
def test_each_end_makes_one_new_connection(rig: LinkRig, napcat: NapCatStandIn) -> None:
    for round_number in range(2, 6):
        napcat.cut_connections(reset=round_number % 2 == 0)
        rig.wait_ready(round_number)

    assert napcat.connection_count == 5
    assert len(napcat.connections) == 1


def test_silence_of_heartbeats_is_no_fault() -> None:
    quiet = Settings(heartbeat_interval_ms=0)
    with NapCatStandIn(settings=quiet) as napcat, LinkRig(settings_for(napcat)) as rig:
        rig.wait_ready()


def test_an_account_that_goes_offline_is_not_ready_until_it_is_back(
    rig: LinkRig, napcat: NapCatStandIn
) -> None:
    napcat.go_offline()
    eventually(lambda: not rig.link.is_ready)

    napcat.come_online()

    rig.wait_ready(2)
    assert napcat.connection_count == 1


def test_heartbeats_that_lag_behind_the_logout_are_not_believed(napcat: NapCatStandIn) -> None:
    with LinkRig(settings_for(napcat, offline_hold_s=0.6)) as rig:
        rig.wait_ready()
        napcat.inject(
            {"time": 1, "self_id": BOT, "post_type": "notice", "notice_type": "bot_offline"}
        )
        rig.wait_state("bot_offline")
        since = time.monotonic()

        rig.wait_ready(2)

        assert time.monotonic() - since > 0.4


def test_a_removal_is_not_ready_at_once(rig: LinkRig, napcat: NapCatStandIn) -> None:
    napcat.remove_bot()

    rig.wait_state("removed")


# -- calls -------------------------------------------------------------------------------------


def test_answers_find_their_calls_in_any_order(rig: LinkRig, napcat: NapCatStandIn) -> None:
    known = napcat.say(MING, "在")
    napcat.faults.next_calls(AnswerLate(by_s=0.2), action="get_msg")
    answers: list[tuple[str, Answer]] = []

    def ask(action: str, echo: str) -> None:
        call = build_call(action, {"message_id": str(known.message_id)}, echo=echo)
        rig.link.start_call(call, within_s=5, on_answer=lambda a: answers.append((echo, a)))

    ask("get_msg", "slow")
    ask("get_version_info", "fast")

    eventually(lambda: len(answers) == 2)
    assert [echo for echo, _ in answers] == ["fast", "slow"]
    assert [answer.response["echo"] for _, answer in answers if answer.response] == ["fast", "slow"]


def test_a_second_answer_is_ignored(rig: LinkRig, napcat: NapCatStandIn) -> None:
    napcat.faults.next_calls(AnswerTwice(), action="get_version_info")
    answers: list[Answer] = []

    call = build_call("get_version_info", {}, echo="twice")
    rig.link.start_call(call, within_s=5, on_answer=answers.append)
    napcat.say(MING, "barrier")
    rig.wait_text("barrier")

    assert len(answers) == 1


def test_a_call_that_nobody_answers_ends_by_its_own_deadline(
    rig: LinkRig, napcat: NapCatStandIn
) -> None:
    napcat.faults.next_calls(NeverAnswer(), action="get_version_info")
    answers: list[Answer] = []

    call = build_call("get_version_info", {}, echo="never")
    rig.link.start_call(call, within_s=0.1, on_answer=answers.append)

    eventually(lambda: answers)
    assert (answers[0].wrote, answers[0].fault) == (True, "deadline")


def test_a_call_in_flight_at_a_drop_says_that_it_was_written(
    rig: LinkRig, napcat: NapCatStandIn
) -> None:
    napcat.faults.next_calls(NeverAnswer(), action="get_version_info")
    answers: list[Answer] = []
    call = build_call("get_version_info", {}, echo="dropped")
    rig.link.start_call(call, within_s=30, on_answer=answers.append)
    napcat.wait_for_call("get_version_info", number=2)

    napcat.cut_connections()

    eventually(lambda: answers)
    assert answers[0].wrote
    assert answers[0].response is None


def test_a_call_without_a_connection_says_that_nothing_was_written(napcat: NapCatStandIn) -> None:
    rig = LinkRig(settings_for(napcat))
    answers: list[Answer] = []

    call = build_call("get_version_info", {}, echo="x")
    rig.link.start_call(call, within_s=5, on_answer=answers.append)

    assert [(answer.wrote, answer.fault) for answer in answers] == [(False, "not_ready")]


@pytest.mark.parametrize("action", ["get_cookies", "bot_exit", "set_group_kick", "download_file"])
def test_actions_off_the_list_never_leave(rig: LinkRig, napcat: NapCatStandIn, action: str) -> None:
    with pytest.raises(Refused):
        rig.link.start_call(
            {"action": action, "params": {}, "echo": "x"}, within_s=1, on_answer=print
        )

    assert all(call.action != action for call in napcat.calls)


# -- the end -----------------------------------------------------------------------------------


@pytest.mark.parametrize("state", ["ready", "frozen", "refused"])
def test_a_stop_ends_within_two_seconds(napcat: NapCatStandIn, state: str) -> None:
    token = "wrong" if state == "refused" else napcat.token
    rig = LinkRig(settings_for(napcat, token=token))
    rig.link.start()
    if state == "refused":
        rig.wait_state("auth_failed")
    else:
        rig.wait_ready()
    if state == "frozen":
        napcat.freeze_connections()
    started = time.monotonic()

    assert rig.link.stop(2.0)
    assert time.monotonic() - started < 2.0


def test_a_dead_reader_thread_does_not_stay_unnoticed(
    napcat: NapCatStandIn, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(threading, "excepthook", lambda _: None)
    rig = LinkRig(settings_for(napcat))
    monkeypatch.setattr(rig.position, "known_seq", lambda: 1 / 0)
    rig.link.start()

    def has_been_noticed() -> bool:
        try:
            rig.link.keep_alive()
        except RuntimeError:
            return True
        return False

    eventually(has_been_noticed)
    rig.link.stop(2.0)
