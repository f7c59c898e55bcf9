"""Players of the recorded cases about handshakes, requests and sending; see golden_stage."""

import json

from perlica.demo.napcat import Settings, segments
from perlica.demo.napcat.faults import AnswerLate, Refuse, TimeOut
from tests.demo.golden_stage import (
    BAD_TOKEN,
    BOT,
    LATE_S,
    MING,
    TARGET_GROUP,
    UNKNOWN_ID,
    Player,
    Stage,
)
from tests.demo.peer import Json

CALLS: dict[str, Player] = {}


def _handshake(**how: Json) -> Player:
    def play(stage: Stage, recorded: Json) -> Json:
        peer = stage.peer(stage.napcat(), **how)
        played: dict[str, Json] = {"frames": [peer.text() for _ in recorded["frames"]]}
        if "closed" in recorded:
            played["closed"] = [peer.close_code(), ""]
        response = peer.socket.handshake_response
        assert response is not None
        headers = response.headers
        played["ext"] = headers.get("sec-websocket-extensions", "")
        played["proto"] = headers.get("sec-websocket-protocol", "")
        if not recorded["frames"]:
            assert peer.frames_so_far() == []
        return played

    return play


def _send_with_bad_token(stage: Stage, _recorded: Json) -> Json:
    napcat = stage.napcat()
    peer = stage.peer(napcat, token=BAD_TOKEN)
    peer.send(json.dumps({"action": "get_status", "echo": "x"}))
    played = {"f": [peer.text()], "c": peer.close_code()}
    assert napcat.calls == ()
    return played


CALLS |= {
    "bad header": _handshake(token=BAD_TOKEN),
    "no token": _handshake(token=""),
    "query ok": _handshake(token="", target="/?access_token=golden"),
    "header ok": _handshake(),
    "raw header no Bearer": _handshake(bare=True),
    "bad query + good header": _handshake(target="/?access_token=wrong"),
    "/api path": _handshake(target="/api"),
    "/event path": _handshake(target="/event"),
    "send right after open with bad token": _send_with_bad_token,
}


def _heartbeat(stage: Stage, _recorded: Json) -> Json:
    peer = stage.peer(stage.napcat(Settings(heartbeat_interval_ms=50)))
    peer.frame()
    return peer.frame()


def _raw(text: str) -> Player:
    def play(stage: Stage, _recorded: Json) -> Json:
        _napcat, peer = stage.pair()
        peer.send(text)
        return peer.frames_so_far()

    return play


def call(action: str, params: object = None) -> Player:
    def play(stage: Stage, recorded: Json) -> Json:
        _napcat, peer = stage.pair()
        return peer.call(action, params, echo=recorded[0]["echo"])

    return play


def _member(params: object) -> Player:
    return call("get_group_member_info", params)


CALLS |= {
    "hb": _heartbeat,
    "call status": call("get_status"),
    "call no echo": _raw('{"action":"get_status"}'),
    "call echo null": _raw('{"action":"get_status","echo":null}'),
    "call echo object": call("get_status"),
    "call echo 0": call("get_status"),
    "call echo int64": _raw('{"action":"get_status","echo":9007199254740993}'),
    "call params null": _raw('{"action":"get_status","params":null,"echo":"p"}'),
    "call unknown": call("nope"),
    "call async suffix": call("get_status_async"),
    "call bad json": _raw('{"action":'),
    "call json5": _raw("{action:'get_status',/* why */params:{},echo:'j5',}"),
    "call array": _raw("[]"),
    "call string": _raw('"get_status"'),
    "call null": _raw("null"),
    "call login": call("get_login_info"),
    "call version": call("get_version_info"),
    "call member str": _member({"group_id": str(TARGET_GROUP), "user_id": str(MING)}),
    "call member int": _member({"group_id": TARGET_GROUP, "user_id": MING}),
    "call member missing": _member({"group_id": TARGET_GROUP, "user_id": 777}),
    "call member noarg": _member({}),
    "call get_msg unknown": call("get_msg", {"message_id": UNKNOWN_ID}),
    "call delete unknown": call("delete_msg", {"message_id": UNKNOWN_ID}),
    "get_file unknown": call("get_file", {"file": "nobody-has-this"}),
    "mark read": call("mark_msg_as_read", {"group_id": TARGET_GROUP}),
    "mark read noarg": call("mark_msg_as_read"),
}


def _echo_of(recorded: Json) -> object:
    return next((frame["echo"] for frame in recorded if "echo" in frame), "none recorded")


def _send(message: object, **params: object) -> Player:
    def play(stage: Stage, recorded: Json) -> Json:
        _napcat, peer = stage.pair()
        asked = {"group_id": str(TARGET_GROUP), "message": message, **params}
        return peer.call("send_group_msg", asked, echo=_echo_of(recorded))

    return play


def _text(content: object) -> list[Json]:
    return [{"type": "text", "data": {"text": content}}]


def _send_after_card_change(stage: Stage, recorded: Json) -> Json:
    napcat, _peer = stage.pair()
    napcat.change_card(BOT, "小明的名片")
    return _send(_text("你好"))(stage, recorded)


def _send_lone_surrogate(stage: Stage, recorded: Json) -> Json:
    frames = _send(_text("a\ud83d b"))(stage, recorded)
    assert frames[1]["raw_message"] == "a\ud83d b"
    return frames


def _send_nowhere(stage: Stage, recorded: Json) -> Json:
    _napcat, peer = stage.pair()
    return peer.call("send_group_msg", {"message": "x"}, echo=_echo_of(recorded))


def _send_without_message(stage: Stage, _recorded: Json) -> Json:
    _napcat, peer = stage.pair()
    return peer.call("send_group_msg", {"group_id": str(TARGET_GROUP)})


def _send_spoiled(fault: Refuse | TimeOut, text: str = "late") -> Player:
    def play(stage: Stage, recorded: Json) -> Json:
        napcat, _peer = stage.pair()
        napcat.faults.next_calls(fault)
        return _send(_text(text))(stage, recorded)

    return play


def _own_message_after_timeout(stage: Stage, _recorded: Json) -> Json:
    _napcat, peer = stage.pair()
    late = TimeOut(self_message_after_s=LATE_S)
    answer = _send_spoiled(late)(stage, [])
    assert [frame["status"] for frame in answer] == ["failed"]
    return [peer.frame()]


def _answers_overtake(stage: Stage, _recorded: Json) -> Json:
    napcat, peer = stage.pair()
    napcat.faults.next_calls(AnswerLate(by_s=LATE_S))
    order = [frame["echo"] for frame in _send(_text("x"))(stage, [{"echo": "SLOW"}])]
    order += [frame["echo"] for frame in peer.call("get_status", echo="FAST")]
    return [*order, *(_label(peer.frame()) for _ in range(2))]


def _label(frame: Json) -> object:
    return frame["echo"] if "echo" in frame else frame["post_type"]


CALLS |= {
    "send array": _send_after_card_change,
    "send int group": _send(_text("x"), group_id=TARGET_GROUP),
    "send string CQ": _send("[CQ:at,qq=30001] hi &#91;x&#93; &amp;amp;"),
    "send string CQ auto_escape": _send("[CQ:at,qq=all] hi", auto_escape=True),
    "send empty str": _send(""),
    "send empty arr": _send([]),
    "send empty text seg": _send(_text("")),
    "send null msg": _send(None),
    "send missing msg": _send_without_message,
    "send unknown seg": _send([{"type": "wat", "data": {}}]),
    "send poke seg": _send([{"type": "poke", "data": {"type": "1", "id": "-1"}}]),
    "send reply unknown id + text": _send([segments.reply(UNKNOWN_ID), *_text("t")]),
    "send only reply unknown": _send([segments.reply(UNKNOWN_ID)]),
    "send at unknown uid": _send([segments.at(777), *_text("t")]),
    "send at int": _send([{"type": "at", "data": {"qq": MING}}, *_text(" t")]),
    "send text non-string": _send(_text(5)),
    "send lone surrogate": _send_lone_surrogate,
    "send no group": _send_nowhere,
    "mode muted": _send_spoiled(Refuse(result=120)),
    "mode kicked": _send_spoiled(Refuse(result=110)),
    "mode failedstatus": _send_spoiled(TimeOut(delivered=False)),
    "mode noseq": _send_spoiled(TimeOut(delivered=False)),
    "mode late": _send_spoiled(TimeOut(self_message_after_s=60)),
    "after late": _own_message_after_timeout,
    "mode noresult": _send_spoiled(TimeOut(delivered=False, returned=False)),
    "order": _answers_overtake,
}
