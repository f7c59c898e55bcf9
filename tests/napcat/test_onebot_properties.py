"""Whatever NapCat sends, the parser gives a value or a ValueError, and clean text."""

import contextlib
import json
from typing import Any

from hypothesis import example, given, settings
from hypothesis import strategies as st

from perlica.clients.onebot import (
    classify_send_failure,
    fields_of,
    group_of,
    is_answer,
    is_group_event,
    is_token_refusal,
    look_for_text,
    messages_of,
    parse_message,
    parse_notice,
    self_of,
    sent_id,
    succeeded,
)
from perlica.clients.onebot.cq import split_codes, unescape
from perlica.domain.ids import UserId
from tests.napcat.rig import BOT, MING, OUR_GROUP

ANY_TEXT = st.text(st.characters(codec=None, categories=None), max_size=40)
KINDS = "text at reply image file record video face json forward all message message_sent notice"
NUMBERS = f"{BOT} {MING} {OUR_GROUP} -1 0 {'1' * 19} [CQ:at,qq=10000] &#91;&amp;"
WORDS = st.sampled_from(f"{KINDS} group ok group_ban ban group_recall {NUMBERS}".split())
SCALAR = (
    st.none()
    | st.booleans()
    | st.integers()
    | st.floats()
    | ANY_TEXT
    | WORDS
    | st.sampled_from([BOT, MING, OUR_GROUP, 1796028366])
)
HEAD_KEYS = "post_type message_type notice_type sub_type self_id user_id group_id message_id"
BODY_KEYS = "message real_seq time sender card nickname duration type data qq text id file file_id"
OTHER_KEYS = "file_size summary raw faceText prompt content retcode status echo messages result"
KEYS = st.sampled_from(f"{HEAD_KEYS} {BODY_KEYS} {OTHER_KEYS}".split())
JSON = st.recursive(
    SCALAR,
    lambda inner: st.lists(inner, max_size=5) | st.dictionaries(KEYS | ANY_TEXT, inner, max_size=8),
    max_leaves=25,
)
FRAMES = st.fixed_dictionaries(
    {},
    optional={
        "post_type": st.sampled_from(["message", "message_sent", "notice"]) | JSON,
        "message_type": st.just("group") | JSON,
        "notice_type": WORDS | JSON,
        "sub_type": WORDS | JSON,
        "self_id": st.sampled_from([BOT, str(BOT)]) | JSON,
        "user_id": st.sampled_from([MING, str(MING)]) | JSON,
        "group_id": st.sampled_from([OUR_GROUP, str(OUR_GROUP)]) | JSON,
        "message_id": st.integers() | JSON,
        "real_seq": st.integers().map(str) | JSON,
        "time": st.integers(1, 2**40) | JSON,
        "sender": st.dictionaries(KEYS, JSON, max_size=4) | JSON,
        "message": st.lists(
            st.fixed_dictionaries({"type": WORDS | JSON, "data": st.dictionaries(KEYS, JSON)})
        )
        | JSON,
    },
)
ROUNDS = settings(max_examples=150, deadline=None, database=None)


@ROUNDS
@given(FRAMES | JSON, st.booleans())
@example({"post_type": []}, False)
@example({"post_type": "message", "message_type": {}}, False)
def test_a_message_or_a_value_error(raw: Any, from_history: bool) -> None:
    with contextlib.suppress(ValueError):
        message = parse_message(raw, self_id=UserId(BOT), from_history=from_history)
        shown = message.plain_text + message.display_name
        shown.encode()
        assert not any(ord(c) < 32 and c not in "\n\t" for c in shown)
        assert "\n" not in message.display_name
        assert isinstance(message.mentions_us, bool)
        assert message.command_line is None or message.command_line.startswith(".")
        for segment in message.segments:
            assert "://" not in segment.handle


@ROUNDS
@given(FRAMES | JSON)
@example({"post_type": "notice", "notice_type": ["x"], "time": 1})
def test_a_notice_or_a_value_error(raw: Any) -> None:
    with contextlib.suppress(ValueError):
        parse_notice(raw)


@ROUNDS
@given(st.dictionaries(KEYS, JSON))
def test_looking_at_a_frame_never_fails(frame: dict[str, Any]) -> None:
    group_of(frame)
    self_of(frame)
    is_group_event(frame)
    is_answer(frame)
    is_token_refusal(frame)
    succeeded(frame)
    fields_of(frame)
    messages_of(frame)
    sent_id(frame)
    classify_send_failure(frame)
    look_for_text(frame, "0" * 64, self_id=UserId(BOT), since_ms=0)


@ROUNDS
@given(ANY_TEXT)
def test_text_survives_the_way_through_a_cq_string(plain: str) -> None:
    escaped = plain.replace("&", "&amp;").replace("[", "&#91;").replace("]", "&#93;")

    segments = list(split_codes(escaped))

    assert "".join(segment["data"]["text"] for segment in segments) == plain
    assert unescape(escaped) == plain


@ROUNDS
@given(ANY_TEXT)
def test_any_string_message_is_read(message: str) -> None:
    frame = {
        "self_id": BOT,
        "user_id": MING,
        "group_id": OUR_GROUP,
        "message_id": 1,
        "time": 1796028366,
        "post_type": "message",
        "message_type": "group",
        "message": message,
    }

    parse_message(json.loads(json.dumps(frame)), self_id=UserId(BOT))
