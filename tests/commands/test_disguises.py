"""What a member types, pastes or swipes when he means a command: obeyed or told, never silence."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from perlica.commands import (
    CommandName,
    Malformed,
    Mistake,
    Parsed,
    Unknown,
    mask_line,
    near_miss,
    parse_line,
)
from perlica.domain.ids import GroupId, MessageId, UserId
from perlica.domain.message import IncomingGroupMessage, Segment, SegmentKind

INVISIBLE = {
    "zero-width space": "\u200b",
    "zero-width non-joiner": "\u200c",
    "zero-width joiner": "\u200d",
    "byte order mark": "\ufeff",
    "left-to-right mark": "\u200e",
    "right-to-left mark": "\u200f",
    "word joiner": "\u2060",
    "invisible plus": "\u2064",
    "soft hyphen": "\u00ad",
    "isolate": "\u2068",
    "embedding": "\u202b",
    "override": "\u202e",
    "tag letter": "\U000e0061",
    "variation selector": "\ufe0f",
    "rare variation selector": "\U000e0100",
    "grapheme joiner": "\u034f",
    "Mongolian separator": "\u180e",
    "Hangul filler": "\u3164",
    "half-width filler": "\uffa0",
    "empty braille": "\u2800",
}
BLANKS = {"blank": " ", "tab": "\t", "no-break space": "\u00a0", "ideographic blank": "\u3000"}
LINES = [".approve K7Q2M 123456", ".deny K7Q2M", ".status", ".cancel"]


def text(words: str) -> Segment:
    return Segment(kind=SegmentKind.text, text=words)


def message(*segments: Segment | str) -> IncomingGroupMessage:
    return IncomingGroupMessage(
        group_id=GroupId(600100200),
        message_id=MessageId(1),
        real_seq=1,
        user_id=UserId(30001),
        self_id=UserId(10000),
        sent_at_ms=0,
        display_name="小明",
        segments=tuple(text(one) if isinstance(one, str) else one for one in segments),
    )


AT_SELF = Segment(kind=SegmentKind.at, target=10000)
AT_OTHER = Segment(kind=SegmentKind.at, target=30009, text="@30009")
QUOTE = Segment(kind=SegmentKind.reply, target=5)


def read(*segments: Segment | str) -> object:
    """What intake makes of a listed member's message."""
    said = message(*segments)
    return parse_line(said.command_line) if said.command_line is not None else near_miss(said)


@pytest.mark.evidence(10)
@pytest.mark.parametrize("sign", INVISIBLE.values(), ids=INVISIBLE)
@pytest.mark.parametrize("line", LINES)
def test_a_command_with_invisible_signs_decides_nothing_and_is_told_so(
    line: str, sign: str
) -> None:
    word = line.split(maxsplit=1)[0]
    disguised = [
        sign + line,
        f".{sign}{line[1:]}",
        line[:3] + sign + line[3:],
        line.replace(word, word + sign, 1),
        sign * 3 + " " + line,
    ]

    for given_line in disguised:
        for segments in ((given_line,), (AT_SELF, " " + given_line)):
            told = read(*segments)
            assert isinstance(told, Malformed), ascii(given_line)
            assert told.mistake is Mistake.hidden_signs, ascii(given_line)
            assert told.name in line


@pytest.mark.parametrize("sign", INVISIBLE.values(), ids=INVISIBLE)
def test_invisible_signs_around_a_code_leave_the_visible_code_or_are_told(sign: str) -> None:
    plain = parse_line(".approve K7Q2M 123456")

    for line in (f".approve K7Q2M {sign}123456{sign}", f".approve K7Q2M 123{sign}456"):
        told = read(line)
        assert told == plain or isinstance(told, Malformed), ascii(line)


def test_a_line_that_is_shown_in_another_order_than_it_is_read_decides_nothing() -> None:
    told = read(".approve K7Q2M \u202e654321")

    assert told == Malformed(name=CommandName.approve, mistake=Mistake.hidden_signs)


@pytest.mark.parametrize("blank", BLANKS.values(), ids=BLANKS)
@pytest.mark.parametrize("line", LINES)
def test_blanks_around_a_command_change_nothing_and_inside_it_are_told(
    line: str, blank: str
) -> None:
    assert isinstance(read(blank + line), Parsed)
    assert read(AT_SELF, blank + line + blank) == read(line)
    assert isinstance(read("." + blank + line[1:]), Malformed)
    assert isinstance(read(line[:3] + blank + line[3:]), Unknown | Malformed)


@pytest.mark.parametrize(
    "dot", ["．", "。", "｡", "․", "·", "・", "•", "..", "/", "／", "!", "！", "、"]
)
@pytest.mark.parametrize("line", LINES)
def test_a_command_behind_another_sign_is_told(line: str, dot: str) -> None:
    told = read(dot + line[1:])

    assert isinstance(told, Malformed)
    assert told.mistake is Mistake.wrong_form


@pytest.mark.parametrize(
    "line",
    [
        "status",
        "Status",
        "STATUS。",
        "ｓｔａｔｕｓ",
        "approve K7Q2M 123456",
        "deny k7q2m",
        "#status",
    ],
)
def test_a_command_without_its_dot_is_told(line: str) -> None:
    assert isinstance(read(line), Malformed)
    assert isinstance(read(AT_SELF, " " + line), Malformed)


@pytest.mark.parametrize("name", CommandName)
def test_every_command_is_recognised_in_capitals_and_behind_a_slash(name: CommandName) -> None:
    for line in (f".{name.upper()}", f"/{name}", f"!{name}", f"．{name}", f"\u2060.{name}"):
        told = read(line)
        assert isinstance(told, Malformed), line
        assert told.name is name


@pytest.mark.parametrize(
    "line",
    [
        ".gitignore",
        ".gitignore 里加 build",
        ".foo",
        "．foo",
        ".状态",
        ".\u0430pprove K7Q2M 123456",
        ".aprove，K7Q2M 123456",
    ],
)
def test_a_dot_word_that_is_no_command_is_an_unknown_command(line: str) -> None:
    assert isinstance(read(line), Unknown)
    assert isinstance(read(AT_SELF, " " + line), Unknown)


@pytest.mark.parametrize(
    "words",
    [
        "help me",
        "status of the build?",
        "node 挂了",
        "task 是什么",
        "/tmp 满了",
        "/node/path",
        "/image.png",
        "……",
        "。。。好吧",
        "。好的",
        "好的。",
        "3. status",
        "- task 一",
        "我来\n.approve K7Q2M 123456",
        "\u200b",
        "",
    ],
)
def test_talk_stays_talk(words: str) -> None:
    told = read(words)

    assert told is None


@pytest.mark.parametrize(
    "segments",
    [
        ("\n.deny K7Q2M",),
        ("\n\n.deny K7Q2M",),
        (AT_SELF, "\n.deny K7Q2M"),
        (AT_SELF, " \n \n.deny K7Q2M"),
        ("\u2028.deny K7Q2M",),
        (" ", "\n", AT_SELF, ".deny K7Q2M"),
    ],
)
def test_a_command_on_a_later_line_is_none_and_is_told(
    segments: tuple[Segment | str, ...],
) -> None:
    assert message(*segments).command_line is None
    assert read(*segments) == Malformed(name=CommandName.deny, mistake=Mistake.not_first)


@pytest.mark.parametrize(
    ("segments", "mistake"),
    [
        ((AT_OTHER, " .deny K7Q2M"), Mistake.not_first),
        ((QUOTE, AT_SELF, " .deny K7Q2M"), Mistake.quoted),
        ((QUOTE, " \u200b.deny K7Q2M"), Mistake.hidden_signs),
        ((QUOTE, "。deny K7Q2M"), Mistake.wrong_form),
        (("\u200b", AT_SELF, ".deny K7Q2M"), Mistake.hidden_signs),
    ],
)
def test_a_command_behind_something_else_is_told_what_stands_in_its_way(
    segments: tuple[Segment | str, ...], mistake: Mistake
) -> None:
    assert read(*segments) == Malformed(name=CommandName.deny, mistake=mistake)


def test_a_word_to_somebody_else_or_below_a_quote_is_talk() -> None:
    assert read(AT_OTHER, " status") is None
    assert read(QUOTE, "help") is None


@pytest.mark.evidence(10)
@pytest.mark.parametrize("sign", INVISIBLE.values(), ids=INVISIBLE)
def test_what_is_stored_of_a_command_holds_no_code_between_invisible_signs(sign: str) -> None:
    stored = mask_line(f".approve K7Q2M {sign.join('123456')}")

    assert not any(digit in stored for digit in "13456")
    assert sign not in stored


@given(st.text(max_size=40), st.sampled_from(LINES))
def test_nothing_but_blanks_before_a_command_lets_it_decide(before: str, line: str) -> None:
    told = read(before + line)

    if isinstance(told, Parsed):
        assert before.strip() == ""
        assert len((before + ".").splitlines()) == 1
