"""What of a group message is a mention, a quote, a command or a request."""

import pytest

from perlica.domain.ids import GroupId, MessageId, UserId
from perlica.domain.message import IncomingGroupMessage, Segment, SegmentKind

US, OTHER = 10_000, 10_001
OURS = Segment(kind=SegmentKind.at, text="@us", target=US)
THEIRS = Segment(kind=SegmentKind.at, text="@other", target=OTHER)


def text(words: str) -> Segment:
    return Segment(kind=SegmentKind.text, text=words)


def message(*segments: Segment) -> IncomingGroupMessage:
    return IncomingGroupMessage(
        group_id=GroupId(1),
        message_id=MessageId(2),
        real_seq=3,
        user_id=UserId(4),
        self_id=UserId(US),
        sent_at_ms=5,
        display_name="n",
        segments=segments,
    )


def test_a_message_is_live_and_somebody_elses_unless_it_says_otherwise() -> None:
    assert not message().is_self
    assert not message().from_history


def test_only_our_own_number_is_a_mention_of_us() -> None:
    reply_with_our_number = Segment(kind=SegmentKind.reply, target=US)

    assert message(text("a"), OURS).mentions_us
    assert not message(THEIRS, text("@us"), reply_with_our_number).mentions_us
    assert not message().mentions_us


def test_the_first_quote_with_an_id_counts() -> None:
    empty = Segment(kind=SegmentKind.reply)
    quote = Segment(kind=SegmentKind.reply, target=77)

    assert message(THEIRS, empty, quote).quoted_id == 77
    assert message(THEIRS, empty).quoted_id is None


@pytest.mark.parametrize(
    "kind",
    [
        SegmentKind.image,
        SegmentKind.file,
        SegmentKind.audio,
        SegmentKind.video,
        SegmentKind.card,
        SegmentKind.forward,
    ],
)
def test_material_can_be_what_a_request_is_about(kind: SegmentKind) -> None:
    assert Segment(kind=kind).asks
    assert not message(OURS, Segment(kind=kind)).asks_for_nothing


@pytest.mark.parametrize("kind", [SegmentKind.at, SegmentKind.at_all, SegmentKind.face])
def test_a_mention_or_a_face_asks_for_nothing(kind: SegmentKind) -> None:
    assert message(Segment(kind=kind, text="x")).asks_for_nothing


def test_words_ask_and_signs_that_nobody_sees_do_not() -> None:
    assert text("a").asks
    assert not text(" \u200b\n").asks
    assert not text("").asks


def test_what_is_only_named_asks_for_nothing() -> None:
    assert not Segment(kind=SegmentKind.other, text="[位置]").asks
    assert Segment(kind=SegmentKind.other, text="[位置] 看看").asks


def test_a_quote_alone_asks_for_something() -> None:
    assert not message(Segment(kind=SegmentKind.reply, target=7), OURS).asks_for_nothing


def test_the_plain_text_is_everything_in_its_order() -> None:
    assert message(text("a"), OURS, text("b")).plain_text == "a@usb"


@pytest.mark.parametrize(
    ("segments", "line"),
    [
        ((text(".status"),), ".status"),
        ((OURS, text("  .status \nmore")), ".status"),
        ((text("  "), OURS, text(".status")), ".status"),
        ((text(".sta"), text("tus")), ".sta"),
        ((THEIRS, text(".status")), None),
        ((Segment(kind=SegmentKind.reply, target=7), text(".status")), None),
        ((text("hello\n.status"),), None),
        ((text("\n.status"),), None),
        ((OURS,), None),
        ((), None),
    ],
)
def test_a_command_stands_first_behind_our_mention_at_most(
    segments: tuple[Segment, ...], line: str | None
) -> None:
    assert message(*segments).command_line == line
