"""Players of the recorded cases about events, notices and messages looked up; see golden_stage."""

from perlica.demo.napcat import segments
from perlica.demo.napcat.faults import Delay
from perlica.demo.napcat.segments import Segment
from tests.demo.golden_calls import call
from tests.demo.golden_stage import (
    BOT,
    LATE_S,
    MING,
    TARGET_GROUP,
    UNKNOWN_ID,
    UNKNOWN_MEMBER,
    Player,
    Stage,
)
from tests.demo.peer import Json, Peer


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
SAID: dict[str, tuple[Player, Player]] = {
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
EVENTS: dict[str, Player] = {}
for _name, (_array, _string) in SAID.items():
    EVENTS[f"event {_name}"] = _array
    EVENTS[f"string {_name}"] = _string


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
    frames = call("get_status")(stage, recorded)
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


EVENTS |= {
    "order slow(seq 5040) fast(seq 5041)": _late_image_is_overtaken,
    "order same batch": _one_batch_keeps_its_order,
    "recall": _recall,
    "kicked": _kicked,
    "hb after": _heartbeat_after_kick,
    "status after": _status_after_kick,
    "get_msg": _about_a_message("get_msg"),
    "hist seq fwd": _history_from_an_anchor,
    "hist unknown seq": call(
        "get_group_msg_history", {"group_id": TARGET_GROUP, "message_seq": UNKNOWN_ID}
    ),
    "emoji like": _about_a_message("set_msg_emoji_like", emoji_id="76"),
    "delete": _about_a_message("delete_msg"),
    "get_image": _image_file,
}
