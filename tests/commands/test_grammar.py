"""Dot commands as members type them on a phone."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from perlica.commands import (
    CommandName,
    Malformed,
    Mistake,
    NotACommand,
    Parsed,
    Unknown,
    mask_line,
    near_miss,
    parse_line,
)
from perlica.domain.approval import digest_code
from perlica.domain.ids import GroupId, MessageId, TicketId, UserId
from perlica.domain.message import IncomingGroupMessage, Segment, SegmentKind

APPROVED = {
    "ticket": "K7Q2M",
    "code_digest": digest_code(TicketId("K7Q2M"), "123456"),
}
OPERATION = "op-0123456789abcdef01234567"


def message(*segments: Segment) -> IncomingGroupMessage:
    return IncomingGroupMessage(
        group_id=GroupId(600100200),
        message_id=MessageId(1),
        real_seq=1,
        user_id=UserId(30001),
        self_id=UserId(10000),
        sent_at_ms=0,
        display_name="小明",
        segments=segments,
    )


@pytest.mark.parametrize(
    "line",
    [
        ".approve K7Q2M 123456",
        ".approve k7q2m 123456",
        ".approve  K7Q2M\t123456 ",
        ".approve\u3000Ｋ７Ｑ２Ｍ\u3000１２３４５６",
        ".approve \u2068K7Q2M\u2069 \u200b123456\ufeff",
        ".approve\u00a0K7Q2M\u00a0123456",
    ],
)
def test_an_approval_is_read_however_a_phone_writes_its_arguments(line: str) -> None:
    assert parse_line(line) == Parsed(name=CommandName.approve, arguments=APPROVED)


def test_the_raw_code_is_in_nothing_that_is_handed_on() -> None:
    parsed = parse_line(".approve K7Q2M 987654")

    assert "987654" not in repr(parsed)
    assert isinstance(parsed, Parsed)
    assert "987654" not in str(dict(parsed.arguments))


@pytest.mark.parametrize(
    ("line", "name", "mistake"),
    [
        (".approve", CommandName.approve, Mistake.needs_ticket),
        (".approve K7Q2M", CommandName.approve, Mistake.needs_code),
        (".approve K7Q2 123456", CommandName.approve, Mistake.bad_ticket),
        (".approve K7Q20 123456", CommandName.approve, Mistake.bad_ticket),
        (".approve <K7Q2M> 123456", CommandName.approve, Mistake.bad_ticket),
        (".approve 123456 K7Q2M", CommandName.approve, Mistake.bad_ticket),
        (".approve K7Q2M 12345", CommandName.approve, Mistake.bad_code),
        (".approve K7Q2M 12345６7", CommandName.approve, Mistake.bad_code),
        (".approve K7Q2M 一二三四五六", CommandName.approve, Mistake.bad_code),
        (".approve K7Q2M 123 456", CommandName.approve, Mistake.too_many_words),
        (".approve K7Q2M 123456 always", CommandName.approve, Mistake.too_many_words),
        (".approve K7Q2M " + "1" * 400, CommandName.approve, Mistake.too_long),
        (".deny", CommandName.deny, Mistake.needs_ticket),
        (".deny K7Q2M 123456", CommandName.deny, Mistake.too_many_words),
        (".status now", CommandName.status, Mistake.too_many_words),
        (".cancel it", CommandName.cancel, Mistake.bad_task),
        (".recovery drop", CommandName.recovery, Mistake.unknown_word),
        (".recovery resolve", CommandName.recovery, Mistake.bad_operation),
        (f".recovery resolve {OPERATION}", CommandName.recovery, Mistake.needs_reason),
        (".Approve K7Q2M 123456", CommandName.approve, Mistake.wrong_form),
        (".APPROVE K7Q2M 123456", CommandName.approve, Mistake.wrong_form),
        (".ａpprove K7Q2M 123456", CommandName.approve, Mistake.wrong_form),
        ("。approve K7Q2M 123456", CommandName.approve, Mistake.wrong_form),
        ("．approve K7Q2M 123456", CommandName.approve, Mistake.wrong_form),
        (".approve，K7Q2M 123456", CommandName.approve, Mistake.wrong_form),
        (".status。", CommandName.status, Mistake.wrong_form),
    ],
)
def test_a_command_that_is_not_whole_does_nothing_but_say_what_is_wrong(
    line: str, name: CommandName, mistake: Mistake
) -> None:
    assert parse_line(line) == Malformed(name=name, mistake=mistake)


@pytest.mark.parametrize(
    ("line", "resembles"),
    [
        (".aprove K7Q2M 123456", CommandName.approve),
        (".approveK7Q2M 123456", CommandName.approve),
        (".cancle", CommandName.cancel),
        (".gitignore", None),
        (".rm -rf /", None),
    ],
)
def test_an_unknown_dot_word_stays_unknown(line: str, resembles: CommandName | None) -> None:
    assert parse_line(line) == Unknown(resembles=resembles)


@pytest.mark.parametrize("line", ["...", ".5 倍", "./configure 失败了", ".", ". 好的", "。。。"])
def test_a_line_that_merely_begins_with_a_dot_is_talk(line: str) -> None:
    assert parse_line(line) == NotACommand()


@pytest.mark.parametrize(
    ("line", "name", "arguments"),
    [
        (".deny k7q2m", CommandName.deny, {"ticket": "K7Q2M"}),
        (".status", CommandName.status, {}),
        (".help ", CommandName.help, {}),
        (".cancel", CommandName.cancel, {}),
        (".cancel t-7f3kq2", CommandName.cancel, {"task": "T-7F3KQ2"}),
        (".recovery", CommandName.recovery, {"action": "list"}),
        (".recovery list", CommandName.recovery, {"action": "list"}),
        (
            f".recovery resolve {OPERATION} 已在节点上 核对，没有执行",
            CommandName.recovery,
            {"action": "resolve", "operation": OPERATION, "reason": "已在节点上 核对，没有执行"},
        ),
    ],
)
def test_every_command_has_one_form(
    line: str, name: CommandName, arguments: dict[str, str]
) -> None:
    assert parse_line(line) == Parsed(name=name, arguments=arguments)


@given(st.text(max_size=80))
def test_no_line_breaks_the_parser_or_keeps_a_code(tail: str) -> None:
    parse_line("." + tail)
    masked = mask_line(".approve K7Q2M 135790 " + tail)

    assert "135790" not in masked


@pytest.mark.parametrize("code", ["123456", "１２３４５６", "123 456", "12-34-56"])
def test_what_is_stored_of_a_line_never_shows_the_code(code: str) -> None:
    masked = mask_line(f".approve K7Q2M {code}")

    assert masked == ".approve K7Q2M " + "*" * len(code)


@pytest.mark.evidence(10)
def test_a_command_behind_a_chinese_full_stop_is_seen_before_it_becomes_a_task() -> None:
    at_self = Segment(kind=SegmentKind.at, target=10000)
    text = Segment(kind=SegmentKind.text, text=" 。approve K7Q2M 123456\n谢谢")

    missed = near_miss(message(at_self, text))

    assert missed == Malformed(name=CommandName.approve, mistake=Mistake.wrong_form)


@pytest.mark.evidence(10)
def test_a_command_typed_as_an_answer_to_a_quote_is_told_to_be_sent_alone() -> None:
    quote = Segment(kind=SegmentKind.reply, target=5)
    at_self = Segment(kind=SegmentKind.at, target=10000)
    text = Segment(kind=SegmentKind.text, text=" .approve K7Q2M 123456")

    missed = near_miss(message(quote, at_self, text))

    assert missed == Malformed(name=CommandName.approve, mistake=Mistake.quoted)


def test_talk_is_no_near_miss() -> None:
    text = Segment(kind=SegmentKind.text, text="。approve K7Q2M 123456")

    assert near_miss(message(Segment(kind=SegmentKind.card, text="[卡片]"), text)) is None
    assert near_miss(message(Segment(kind=SegmentKind.text, text="请看"), text)) is None
    assert near_miss(message(Segment(kind=SegmentKind.text, text="。。。"))) is None
    assert near_miss(message(Segment(kind=SegmentKind.reply, target=5))) is None
    assert near_miss(message()) is None
