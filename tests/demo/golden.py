"""How each recorded case is played with our stand-in; used by test_golden_frames alone.

A player gets the stage and the recorded frames (for echoes and texts) and returns our frames in
the same container.
"""

import json
from collections.abc import Callable
from contextlib import ExitStack
from dataclasses import dataclass, field, replace

from perlica.demo.napcat import NapCatStandIn, Settings, segments
from perlica.demo.napcat.faults import AnswerLate, Delay, Refuse, TimeOut
from perlica.demo.napcat.segments import Segment
from tests.demo.peer import Json, Peer

BOT, MING, UNKNOWN_MEMBER = 10000, 30001, 30999
TARGET_GROUP = 600100200
BAD_TOKEN = "wrong"
LATE_S = 0.1
UNKNOWN_ID = 999
QUIET = Settings(heartbeat_interval_ms=0)


@dataclass
class Stage:
    """Stand-ins made on demand and ended with the test."""

    exits: ExitStack
    _by_format: dict[str, tuple[NapCatStandIn, Peer]] = field(default_factory=dict)

    def napcat(self, settings: Settings = QUIET) -> NapCatStandIn:
        return self.exits.enter_context(NapCatStandIn(token="golden", settings=settings))

    def peer(self, napcat: NapCatStandIn, **how: Json) -> Peer:
        return self.exits.enter_context(Peer(napcat, **how))

    def pair(self, form: str = "array") -> tuple[NapCatStandIn, Peer]:
        """A stand-in and a greeted peer; the string one reports no own messages, as recorded."""
        if form not in self._by_format:
            settings = QUIET
            if form == "string":
                settings = replace(QUIET, message_format="string", reports_own_messages=False)
            napcat = self.napcat(settings)
            peer = self.peer(napcat)
            peer.frame()
            self._by_format[form] = napcat, peer
        return self._by_format[form]


Player = Callable[[Stage, Json], Json]
PLAYERS: dict[str, Player] = {}


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


PLAYERS |= {
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


def _call(action: str, params: object = None) -> Player:
    def play(stage: Stage, recorded: Json) -> Json:
        _napcat, peer = stage.pair()
        return peer.call(action, params, echo=recorded[0]["echo"])

    return play


def _member(params: object) -> Player:
    return _call("get_group_member_info", params)


PLAYERS |= {
    "hb": _heartbeat,
    "call status": _call("get_status"),
    "call no echo": _raw('{"action":"get_status"}'),
    "call echo null": _raw('{"action":"get_status","echo":null}'),
    "call echo object": _call("get_status"),
    "call echo 0": _call("get_status"),
    "call echo int64": _raw('{"action":"get_status","echo":9007199254740993}'),
    "call params null": _raw('{"action":"get_status","params":null,"echo":"p"}'),
    "call unknown": _call("nope"),
    "call async suffix": _call("get_status_async"),
    "call bad json": _raw('{"action":'),
    "call json5": _raw("{action:'get_status',/* why */params:{},echo:'j5',}"),
    "call array": _raw("[]"),
    "call string": _raw('"get_status"'),
    "call null": _raw("null"),
    "call login": _call("get_login_info"),
    "call version": _call("get_version_info"),
    "call member str": _member({"group_id": str(TARGET_GROUP), "user_id": str(MING)}),
    "call member int": _member({"group_id": TARGET_GROUP, "user_id": MING}),
    "call member missing": _member({"group_id": TARGET_GROUP, "user_id": 777}),
    "call member noarg": _member({}),
    "call get_msg unknown": _call("get_msg", {"message_id": UNKNOWN_ID}),
    "call delete unknown": _call("delete_msg", {"message_id": UNKNOWN_ID}),
    "get_file unknown": _call("get_file", {"file": "nobody-has-this"}),
    "mark read": _call("mark_msg_as_read", {"group_id": TARGET_GROUP}),
    "mark read noarg": _call("mark_msg_as_read"),
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


PLAYERS |= {
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


def _said(
    content: str | list[Segment], *, user_id: int = MING, **how: Json
) -> tuple[Player, Player]:
    def player(form: str) -> Player:
        def play(stage: Stage, _recorded: Json) -> Json:
            napcat, peer = stage.pair(form)
            napcat.say(user_id, content, **how)
            return peer.frames_so_far()

        return play

    return player("array"), player("string")


def _said_reply(form: str) -> Player:
    def play(stage: Stage, _recorded: Json) -> Json:
        napcat, peer = stage.pair(form)
        quoted = napcat.say(MING, "original")
        peer.frames_so_far()
        napcat.say(MING, "看看", mention=True, reply_to=quoted)
        return peer.frames_so_far()

    return play


def _said_twice(form: str) -> Player:
    """NapCat pushes both; the recording kept one of two identical frames."""

    def play(stage: Stage, _recorded: Json) -> Json:
        napcat, peer = stage.pair(form)
        napcat.redeliver(napcat.say(MING, "original"))
        first, second = peer.frames_so_far()
        assert first == second
        return [first]

    return play


ARK = {
    "app": "com.tencent.miniapp_01",
    "prompt": "[QQ小程序]x",
    "meta": {"detail_1": {"title": "标题", "qqdocurl": "https://example.com"}},
}
EVENTS: dict[str, tuple[Player, Player]] = {
    "text": _said("hello [CQ:at,qq=1] & ,"),
    "at bot": _said("帮我看下日志", mention=True),
    "at all": _said([segments.at("all"), segments.text(" 开会")]),
    "at big uin signed": _said([segments.at(3000000000), segments.text(" x")]),
    "cr newline": _said("a\rb\rc"),
    "mixed crlf": _said("a\r\nb\rc"),
    "empty elements": _said([]),
    "unsupported element": _said([]),
    "only at": _said([segments.at(BOT)]),
    "leading space raw trim": _said("  hi  "),
    "unknown member": _said("hi", user_id=UNKNOWN_MEMBER),
    "senderUin 0": _said("x", user_id=0),
    "msgTime 0": _said("x", sent_at_s=0),
    "old message": _said("x", sent_at_s=1_000_000_000),
    "self other device": _said("from phone", user_id=BOT),
    "image": _said([segments.image("ABCDEF.png")]),
    "json ark": _said([segments.card(ARK)]),
    "face": _said([segments.face(178, "/斜眼笑")]),
    "mface": _said([segments.market_face("[赞]", "0123456789abcdef0123456789abcdef")]),
    "markdown": _said([segments.markdown("# hi")]),
    "reply": (_said_reply("array"), _said_reply("string")),
    "file": _said([segments.file("report.pdf", "/uuid-file")]),
    "dup same msg twice": (_said_twice("array"), _said_twice("string")),
}
for _name, (_array, _string) in EVENTS.items():
    PLAYERS[f"event {_name}"] = _array
    PLAYERS[f"string {_name}"] = _string


def _late_image_is_overtaken(stage: Stage, _recorded: Json) -> Json:
    napcat, peer = stage.pair()
    napcat.faults.next_events(Delay(by_s=LATE_S))
    slow = napcat.say(MING, [segments.image("slow.png")])
    napcat.say(MING, "fast")
    seqs = [int(peer.frame()["real_seq"]) for _ in range(2)]
    assert seqs == [slow.real_seq + 1, slow.real_seq]
    return seqs


def _one_batch_keeps_its_order(stage: Stage, _recorded: Json) -> Json:
    napcat, peer = stage.pair()
    napcat.say(MING, [segments.image("first.png")])
    napcat.say(MING, "second")
    frames = peer.frames_so_far()
    kinds = [frame["message"][0]["type"] for frame in frames]
    assert kinds == ["image", "text"]
    return [f"{f['real_seq']}/{kind}" for f, kind in zip(frames, kinds, strict=True)]


def _recall(stage: Stage, _recorded: Json) -> Json:
    napcat, peer = stage.pair()
    message = napcat.say(MING, "original")
    peer.frames_so_far()
    napcat.recall(message)
    return peer.frames_so_far()


def _kicked(stage: Stage, _recorded: Json) -> Json:
    napcat, peer = stage.pair()
    napcat.go_offline()
    napcat.beat()
    return peer.frames_so_far()


def _heartbeat_after_kick(stage: Stage, recorded: Json) -> Json:
    beat = _kicked(stage, recorded)[1]
    assert beat["status"] == {"online": False, "good": True}
    return beat


def _status_after_kick(stage: Stage, recorded: Json) -> Json:
    napcat, _peer = stage.pair()
    napcat.go_offline()
    frames = _call("get_status")(stage, recorded)
    return [frame for frame in frames if "echo" in frame]


def _about_a_message(action: str, **params: object) -> Player:
    def play(stage: Stage, recorded: Json) -> Json:
        napcat, peer = stage.pair()
        message = napcat.say(MING, "original")
        peer.frames_so_far()
        asked = {"message_id": message.message_id, **params}
        return peer.call(action, asked, echo=recorded[0]["echo"])

    return play


def _history_from_an_anchor(stage: Stage, _recorded: Json) -> Json:
    napcat, peer = stage.pair()
    said = [napcat.say(MING, f"line {number}") for number in range(7)]
    forward = _history(peer, message_seq=said[0].message_id)
    backward = _history(peer, message_seq=str(said[-1].message_id), reverse_order=True)
    assert forward["seqs"] == [str(message.real_seq) for message in said[:3]]
    assert backward["seqs"] == [str(message.real_seq) for message in said[-3:]]
    return [forward, backward]


def _history(peer: Peer, **params: object) -> Json:
    answer = peer.answer("get_group_msg_history", {"group_id": TARGET_GROUP, "count": 3, **params})
    seqs = [message["real_seq"] for message in answer["data"]["messages"]]
    return {"ret": answer["retcode"], "m": answer["message"], "seqs": seqs}


def _image_file(stage: Stage, recorded: Json) -> Json:
    napcat, peer = stage.pair()
    napcat.say(MING, [segments.image("ABCDEF.png")])
    peer.frames_so_far()
    return peer.call("get_image", {"file": "ABCDEF.png"}, echo=recorded[0]["echo"])


PLAYERS |= {
    "order slow(seq 5040) fast(seq 5041)": _late_image_is_overtaken,
    "order same batch": _one_batch_keeps_its_order,
    "recall": _recall,
    "kicked": _kicked,
    "hb after": _heartbeat_after_kick,
    "status after": _status_after_kick,
    "get_msg": _about_a_message("get_msg"),
    "hist seq fwd": _history_from_an_anchor,
    "hist unknown seq": _call(
        "get_group_msg_history", {"group_id": TARGET_GROUP, "message_seq": UNKNOWN_ID}
    ),
    "emoji like": _about_a_message("set_msg_emoji_like", emoji_id="76"),
    "delete": _about_a_message("delete_msg"),
    "get_image": _image_file,
}
