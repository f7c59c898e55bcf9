"""The stand-in misbehaves exactly as told, once, and otherwise not at all."""

import threading
from collections.abc import Iterator
from pathlib import Path

import pytest
import websocket

from perlica.demo.napcat import NapCatStandIn, NothingCame, Settings
from perlica.demo.napcat import faults as f
from tests.demo.peer import Json, Peer

MING, HONG = 30001, 30002
NEIGHBOUR_GROUP = 600100999
SOON_S = 0.05


@pytest.fixture
def napcat() -> Iterator[NapCatStandIn]:
    with NapCatStandIn(settings=Settings(heartbeat_interval_ms=0)) as stand_in:
        yield stand_in


@pytest.fixture
def peer(napcat: NapCatStandIn) -> Iterator[Peer]:
    with Peer(napcat) as connected:
        connected.frame()
        yield connected


def send(peer: Peer, napcat: NapCatStandIn, text: str = "好") -> list[Json]:
    params = {"group_id": napcat.group_id, "message": [{"type": "text", "data": {"text": text}}]}
    return peer.call("send_group_msg", params)


def texts(frames: list[Json]) -> list[str]:
    return [frame["raw_message"] for frame in frames if "raw_message" in frame]


def test_a_reply_can_be_waited_for(napcat: NapCatStandIn, peer: Peer) -> None:
    question = napcat.say(MING, "在吗", mention=True)
    send(peer, napcat, "在")

    answer = napcat.wait_for_reply(lambda m: m.text == "在", after=question)

    assert answer in napcat.sent
    with pytest.raises(NothingCame, match="在"):
        napcat.wait_for_reply(within_s=SOON_S, after=answer)


def test_a_refused_message_never_appears(napcat: NapCatStandIn, peer: Peer) -> None:
    napcat.faults.next_calls(f.Refuse(result=1006514))

    frames = send(peer, napcat)

    assert [frame["retcode"] for frame in frames] == [1200]
    assert '"result": 1006514' in frames[0]["message"]
    assert napcat.sent == ()
    assert napcat.faults.pending == 0


def test_a_timed_out_message_may_be_delivered(napcat: NapCatStandIn, peer: Peer) -> None:
    napcat.faults.next_calls(f.TimeOut(self_message_after_s=SOON_S), f.TimeOut(delivered=False))

    delivered, lost = send(peer, napcat, "到"), send(peer, napcat, "丢")

    assert all(frame["message"].startswith("Timeout") for frame in delivered + lost)
    assert peer.frame()["raw_message"] == "到"
    assert [message.text for message in napcat.sent] == ["到"]


def test_a_call_may_never_be_answered(napcat: NapCatStandIn, peer: Peer) -> None:
    napcat.faults.next_calls(f.NeverAnswer(), f.NeverAnswer(delivered=False))

    frames = send(peer, napcat, "做了") + send(peer, napcat, "没做")

    assert [frame.get("post_type") for frame in frames] == ["message_sent"]
    assert [message.text for message in napcat.sent] == ["做了"]


def test_the_connection_may_drop_between_delivery_and_answer(
    napcat: NapCatStandIn, peer: Peer
) -> None:
    napcat.faults.next_calls(f.CloseBeforeAnswer())

    with pytest.raises((websocket.WebSocketException, OSError)):
        send(peer, napcat)

    assert len(napcat.sent) == 1


def test_an_answer_may_come_twice_or_after_the_own_message(
    napcat: NapCatStandIn, peer: Peer
) -> None:
    napcat.faults.next_calls(f.AnswerTwice(), f.SelfMessageFirst(), f.NoSelfMessage())

    kinds = [[frame.get("post_type", "answer") for frame in send(peer, napcat)] for _ in range(3)]

    assert kinds == [
        ["answer", "answer", "message_sent"],
        ["message_sent", "answer"],
        ["answer"],
    ]


def test_any_action_can_be_made_to_fail(napcat: NapCatStandIn, peer: Peer) -> None:
    napcat.faults.next_calls(f.FailWith(text="坏了"), action="get_login_info")

    first, second = peer.answer("get_login_info"), peer.answer("get_login_info")

    assert (first["retcode"], first["message"]) == (1200, "坏了")
    assert second["data"]["user_id"] == napcat.self_id


def test_a_frame_is_cut_in_the_middle(napcat: NapCatStandIn, peer: Peer) -> None:
    napcat.faults.next_events(f.CutFrame())

    napcat.say(MING, "半句话")

    with pytest.raises(websocket.WebSocketConnectionClosedException):
        peer.text()


def test_a_frame_stalls_and_nothing_follows(napcat: NapCatStandIn, peer: Peer) -> None:
    napcat.faults.next_events(f.CutFrame(then="stall"))
    peer.socket.settimeout(SOON_S)

    napcat.say(MING, "半句话")
    napcat.say(MING, "另一句")

    with pytest.raises(websocket.WebSocketTimeoutException):
        peer.text()
    assert len(napcat.connections) == 1


def test_events_get_lost_doubled_swapped_and_fragmented(napcat: NapCatStandIn, peer: Peer) -> None:
    napcat.faults.next_events(f.Drop(), f.Repeat(times=3), f.Swap(), f.Fragment(pieces=4))

    for text in ("丢", "三遍", "晚到", "碎片"):
        napcat.say(MING, text)

    assert texts(peer.frames_so_far()) == ["三遍", "三遍", "三遍", "碎片", "晚到"]


def test_a_swapped_event_comes_after_the_next_one(napcat: NapCatStandIn, peer: Peer) -> None:
    napcat.faults.next_events(f.Swap())

    napcat.say(MING, "第一")
    napcat.say(MING, "第二")

    assert texts(peer.frames_so_far()) == ["第二", "第一"]


def test_a_swapped_event_comes_at_last_even_when_nothing_follows(
    napcat: NapCatStandIn, peer: Peer
) -> None:
    napcat.faults.next_events(f.Swap(at_latest_s=SOON_S))

    napcat.say(MING, "第一")

    assert peer.frame()["raw_message"] == "第一"


def test_bytes_that_are_no_text_arrive_as_they_are(napcat: NapCatStandIn, peer: Peer) -> None:
    napcat.inject_bytes(b"\xff\xfe")

    with pytest.raises(websocket.WebSocketPayloadException):
        peer.text()


def test_garbage_oversized_and_forged_frames_arrive(napcat: NapCatStandIn, peer: Peer) -> None:
    message = napcat.say(MING, "真的")
    real = peer.frame()
    napcat.inject_text('{"post_type":"mess')
    napcat.inject_oversized(1024 * 1024)
    napcat.inject({**napcat.event_of(message), "self_id": 1})

    assert peer.text() == '{"post_type":"mess'
    assert len(peer.text()) == 1024 * 1024
    assert peer.frame() == {**real, "self_id": 1}


def test_a_message_of_another_group_is_pushed_too(napcat: NapCatStandIn, peer: Peer) -> None:
    napcat.say(MING, "隔壁的话", group=NEIGHBOUR_GROUP)

    assert peer.frame()["group_id"] == NEIGHBOUR_GROUP


def test_colliding_ids_make_napcat_forget_every_id(napcat: NapCatStandIn, peer: Peer) -> None:
    first = napcat.say(MING, "先来的")
    other = napcat.say(MING, "无关的")
    assert peer.answer("get_msg", {"message_id": other.message_id})["retcode"] == 0

    second = napcat.say(HONG, "同号的", message_id=first.message_id)

    assert second.message_id == first.message_id
    assert second.real_seq != first.real_seq
    assert peer.answer("get_msg", {"message_id": other.message_id})["message"] == "消息不存在"


def test_a_connection_can_be_turned_away_redirected_stalled_or_closed(
    napcat: NapCatStandIn,
) -> None:
    napcat.faults.next_connections(
        f.RejectToken(),
        f.AnswerHttp(status=302, headers=(("Location", "ws://127.0.0.1:1/"),)),
        f.CloseAtOnce(),
    )

    with Peer(napcat) as rejected:
        assert rejected.frame()["retcode"] == 1403
        assert rejected.close_code() == 1005
    with pytest.raises(websocket.WebSocketException, match="Redirect"):
        Peer(napcat)
    with pytest.raises((websocket.WebSocketException, OSError)):
        Peer(napcat)
    with Peer(napcat) as admitted:
        assert admitted.frame()["sub_type"] == "connect"


def test_closing_politely_is_seen_as_1005_and_cutting_as_nothing(napcat: NapCatStandIn) -> None:
    with Peer(napcat) as closed:
        closed.frame()
        napcat.close_connections()
        assert closed.close_code() == 1005
    with Peer(napcat) as reset:
        reset.frame()
        napcat.wait_for_connection()
        napcat.cut_connections(reset=True)
        with pytest.raises((websocket.WebSocketException, OSError)):
            reset.text()


def test_a_frozen_peer_answers_neither_ping_nor_call(napcat: NapCatStandIn, peer: Peer) -> None:
    napcat.wait_for_connection()
    napcat.freeze_connections()
    peer.socket.settimeout(SOON_S)

    peer.socket.ping()

    with pytest.raises(websocket.WebSocketTimeoutException):
        peer.socket.recv_data(control_frame=True)


def test_events_while_nobody_is_connected_are_lost_but_stay_in_the_history(
    napcat: NapCatStandIn,
) -> None:
    napcat.say(MING, "没人在听")

    with Peer(napcat) as peer:
        peer.frame()
        frames = peer.frames_so_far()
        history = peer.answer("get_group_msg_history", {"group_id": napcat.group_id})

    assert frames == []
    assert [m["raw_message"] for m in history["data"]["messages"]] == ["没人在听"]


def test_what_was_said_while_qq_was_offline_is_gone(napcat: NapCatStandIn, peer: Peer) -> None:
    napcat.go_offline()
    napcat.say(MING, "掉线时说的")
    napcat.come_online()
    napcat.say(MING, "回来了")

    history = peer.answer("get_group_msg_history", {"group_id": napcat.group_id})

    assert [m["raw_message"] for m in history["data"]["messages"]] == ["回来了"]


def test_a_muted_account_is_refused_until_it_may_speak(napcat: NapCatStandIn, peer: Peer) -> None:
    napcat.mute_bot(60, by=MING)
    muted = send(peer, napcat)
    napcat.unmute_bot(by=MING)
    free = send(peer, napcat)

    assert [frame.get("sub_type", frame.get("retcode")) for frame in muted] == ["ban", 1200]
    assert [frame.get("sub_type", frame.get("retcode")) for frame in free][:2] == ["lift_ban", 0]


def test_a_changed_token_turns_new_clients_away_and_keeps_old_ones(
    napcat: NapCatStandIn, peer: Peer
) -> None:
    old_token, napcat.token = napcat.token, "another"

    with Peer(napcat, token=old_token) as late:
        assert late.frame()["retcode"] == 1403
    assert peer.answer("get_status")["retcode"] == 0


def test_the_history_survives_a_restart_and_a_torn_line(tmp_path: Path) -> None:
    journal = tmp_path / "history.jsonl"
    with NapCatStandIn(journal=journal) as before:
        kept = before.say(MING, "留下 \ud83d 的话")
        before.recall(before.say(MING, "收回的话"))
    with journal.open("ab") as torn:
        torn.write(b'{"message": {"kernel_id"')

    with NapCatStandIn(journal=journal, settings=Settings(heartbeat_interval_ms=0)) as after:
        new = after.say(MING, "新的话")
        with Peer(after) as peer:
            peer.frame()
            history = peer.answer("get_group_msg_history", {"group_id": after.group_id})

    shown = [m["raw_message"] for m in history["data"]["messages"]]
    assert shown == ["留下 \ud83d 的话", "", "新的话"]
    assert new.real_seq == kept.real_seq + 2


@pytest.mark.parametrize(
    "request_text",
    [
        '{"action":"send_group_msg","params":{"group_id":600100200,"message":[1,null,"x"]}}',
        '{"action":"send_group_msg","params":{"group_id":[],"message":{"type":"text","data":7}}}',
        '{"action":"send_group_msg","params":{"group_id":"6e8","message":[{"type":[],"data":{}}]}}',
        '{"action":"get_group_msg_history","params":{"group_id":{},"count":"many"}}',
        '{"action":"get_group_msg_history","params":{"group_id":600100200,"count":-3}}',
        '{"action":"get_msg","params":{"message_id":{"a":1}}}',
        '{"action":"set_msg_emoji_like","params":{"message_id":1e999,"emoji_id":null}}',
        '{"action":["get_msg"],"params":[],"echo":[[]]}',
        "[" * 100_000,
        "12",
        "",
    ],
)
def test_nonsense_costs_at_most_its_own_answer(
    request_text: str, napcat: NapCatStandIn, peer: Peer
) -> None:
    napcat.say(MING, "在")
    peer.frames_so_far()

    peer.send(request_text)
    frames = peer.frames_so_far()

    assert [frame["status"] for frame in frames] in (["failed"], [])


def test_no_thread_outlives_the_stand_in() -> None:
    with NapCatStandIn() as napcat:
        peers = [Peer(napcat) for _ in range(3)]
        napcat.wait_for_connection()
        napcat.freeze_connections()
    for peer in peers:
        peer.socket.shutdown()  # type: ignore[no-untyped-call]  # websocket-client is typed in part

    left = [thread.name for thread in threading.enumerate() if thread.name.startswith("napcat")]

    assert left == []
