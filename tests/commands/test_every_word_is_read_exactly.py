"""Each form of each command, one word short, one too many, one wrong: what it is read as."""

import pytest

from perlica.commands.answers import MAX_LISTED, answer_recovery, answer_status
from perlica.commands.facts import (
    PendingTicket,
    RecoveryItem,
    SandboxFacts,
    StatusFacts,
    SwitchFacts,
    TaskFacts,
)
from perlica.commands.grammar import (
    MAX_LINE_CODE_POINTS,
    Malformed,
    NotACommand,
    Parsed,
    Unknown,
    mask_line,
    near_miss,
    parse_line,
)
from perlica.commands.names import CommandName, Mistake
from perlica.commands.roles import Role, may_cancel, may_use, role_of
from perlica.domain.ids import (
    GroupId,
    MessageId,
    OperationId,
    SandboxName,
    TaskId,
    TicketId,
    UserId,
)
from perlica.domain.message import IncomingGroupMessage, Segment, SegmentKind
from perlica.domain.sandbox import SandboxState
from perlica.domain.task import TaskState
from perlica.domain.texts import Language

OPERATION = "op-" + "0123456789ab" * 2
DIGEST = "0123456789ab"
WHOLE = {
    ".deny k7q2m": {"ticket": "K7Q2M"},
    ".status": {},
    ".cancel": {},
    ".cancel t-7f3kq2": {"task": "T-7F3KQ2"},
    ".task T-7F3KQ2": {"task": "T-7F3KQ2"},
    ".audit": {},
    ".audit T-7F3KQ2": {"task": "T-7F3KQ2"},
    ".recovery": {"action": "list"},
    ".recovery LIST": {"action": "list"},
    f".recovery Resolve {OPERATION.upper()} looked at  it ": {
        "action": "resolve",
        "operation": OPERATION,
        "reason": "looked at  it",
    },
    ".sbx": {"action": "list"},
    ".sbx List": {"action": "list"},
    ".sbx SHOW Lab-1": {"action": "show", "name": "lab-1"},
    ".sbx ops lab": {"action": "ops", "name": "lab"},
    ".sbx stop lab": {"action": "stop", "name": "lab"},
    ".sbx delete lab": {"action": "delete", "name": "lab"},
    ".sbx describe lab a  b ": {"action": "describe", "name": "lab", "purpose": "a  b"},
    ".image": {"action": "show"},
    ".image retry": {"action": "retry"},
    ".image intro Two words": {"action": "intro", "introduction": "Two words"},
    f".image switch {DIGEST}": {"action": "switch", "digest": DIGEST},
    f".image switch SHA256:{DIGEST} a b": {
        "action": "switch",
        "digest": f"sha256:{DIGEST}",
        "introduction": "a b",
    },
    ".orphans": {"action": "list"},
    ".orphans list": {"action": "list"},
    ".orphans delete 12": {"action": "delete", "number": "12"},
    ".node": {"action": "list"},
    ".node writeoff N-1.x": {"action": "writeoff", "name": "n-1.x"},
    ".whoami": {},
    ".help": {},
}
WRONG = {
    ".approve": Mistake.needs_ticket,
    ".approve K7Q2": Mistake.bad_ticket,
    ".approve K7Q2M": Mistake.needs_code,
    ".approve K7Q2M 12345": Mistake.bad_code,
    ".approve K7Q2M 123456 x": Mistake.too_many_words,
    ".deny": Mistake.needs_ticket,
    ".deny K7Q2I": Mistake.bad_ticket,
    ".deny K7Q2M x": Mistake.too_many_words,
    ".status x": Mistake.too_many_words,
    ".cancel 7F3KQ2": Mistake.bad_task,
    ".cancel T-7F3KQ2 x": Mistake.too_many_words,
    ".task": Mistake.needs_task,
    ".task x": Mistake.bad_task,
    ".recovery x": Mistake.unknown_word,
    ".recovery list x": Mistake.unknown_word,
    ".recovery resolve": Mistake.bad_operation,
    ".recovery resolve op-1 x": Mistake.bad_operation,
    f".recovery resolve {OPERATION}": Mistake.needs_reason,
    ".sbx list x": Mistake.too_many_words,
    ".sbx fly lab": Mistake.unknown_word,
    ".sbx stop": Mistake.needs_name,
    ".sbx stop -lab": Mistake.bad_name,
    ".sbx stop lab x": Mistake.too_many_words,
    ".sbx describe lab": Mistake.needs_text,
    ".image show x": Mistake.too_many_words,
    ".image fly": Mistake.unknown_word,
    ".image intro": Mistake.needs_text,
    ".image switch": Mistake.bad_digest,
    ".image switch 0123456789a": Mistake.bad_digest,
    ".orphans list x": Mistake.too_many_words,
    ".orphans keep 1": Mistake.unknown_word,
    ".orphans delete": Mistake.bad_number,
    ".orphans delete x": Mistake.bad_number,
    ".orphans delete 1 x": Mistake.too_many_words,
    ".node list x": Mistake.too_many_words,
    ".node keep n": Mistake.unknown_word,
    ".node writeoff": Mistake.needs_name,
    ".node writeoff -n": Mistake.bad_name,
    ".node writeoff n x": Mistake.too_many_words,
    ".Status": Mistake.wrong_form,
    "。status": Mistake.wrong_form,
    "/status": Mistake.wrong_form,
    "status": Mistake.wrong_form,
    "deny K7Q2M": Mistake.wrong_form,
    "deny K7Q2M please": Mistake.wrong_form,
    ".sta\u200btus": Mistake.hidden_signs,
    ".status \u202e": Mistake.hidden_signs,
}
TALK = (
    *("...", ".5 倍", "./configure", "hello", "status of it", "deny everything", "status-page"),
    *("cancel the meeting", "#status-page", "", "/etc/passwd"),
)


@pytest.mark.parametrize("line", WHOLE)
def test_a_whole_line_is_read_word_by_word(line: str) -> None:
    read = parse_line(line)

    assert isinstance(read, Parsed)
    assert read.name == line[1:].split(maxsplit=1)[0]
    assert read.arguments == WHOLE[line]


@pytest.mark.parametrize("line", WRONG)
def test_a_line_that_is_not_whole_says_what_is_wrong(line: str) -> None:
    read = parse_line(line)

    assert isinstance(read, Malformed)
    assert read.mistake is WRONG[line]


@pytest.mark.parametrize("line", TALK)
def test_talk_is_no_command(line: str) -> None:
    assert isinstance(parse_line(line), NotACommand)


@pytest.mark.parametrize(
    ("line", "resembles"),
    [
        (".aprove K7Q2M", CommandName.approve),
        (".statuses", CommandName.status),
        (".gitignore", None),
        (".状态", None),
        (".zzzz", None),
    ],
)
def test_a_dot_word_that_is_none_may_resemble_one(line: str, resembles: CommandName | None) -> None:
    assert parse_line(line) == Unknown(resembles=resembles)


def test_three_hundred_signs_are_the_longest_line() -> None:
    longest = ".image intro " + "x" * (MAX_LINE_CODE_POINTS - 13)

    assert MAX_LINE_CODE_POINTS == len(longest) == 300
    assert isinstance(parse_line(longest), Parsed)
    assert parse_line(longest + "x") == Malformed(name=CommandName.image, mistake=Mistake.too_long)


@pytest.mark.parametrize(
    ("line", "masked"),
    [
        (".approve K7Q2M 123456", ".approve K7Q2M ******"),
        ("123", "123"),
        ("1234", "****"),
        ("1 2 3 4", "*******"),
        ("1----2----3----4", "1----2----3----4"),
        ("12\u200b34", "****"),
    ],
)
def test_four_digits_in_a_row_are_masked_however_they_are_parted(line: str, masked: str) -> None:
    assert mask_line(line) == masked


def message(*segments: Segment) -> IncomingGroupMessage:
    return IncomingGroupMessage(
        group_id=GroupId(1),
        message_id=MessageId(2),
        real_seq=3,
        user_id=UserId(4),
        self_id=UserId(5),
        sent_at_ms=6,
        display_name="n",
        segments=segments,
    )


def text(words: str) -> Segment:
    return Segment(kind=SegmentKind.text, text=words)


US = Segment(kind=SegmentKind.at, text="@us", target=5)
OTHER = Segment(kind=SegmentKind.at, text="@other", target=6)
QUOTE = Segment(kind=SegmentKind.reply, target=7)
FACE = Segment(kind=SegmentKind.face, text="[表情]")


@pytest.mark.parametrize(
    ("segments", "mistake"),
    [
        ((QUOTE, text(".status")), Mistake.quoted),
        ((OTHER, text(".status")), Mistake.not_first),
        ((US, text("\n.status")), Mistake.not_first),
        ((US, text("。status")), Mistake.wrong_form),
        ((text("status"),), Mistake.wrong_form),
        ((QUOTE, text("。status")), Mistake.wrong_form),
    ],
)
def test_a_command_in_the_wrong_place_is_told_so(
    segments: tuple[Segment, ...], mistake: Mistake
) -> None:
    missed = near_miss(message(*segments))

    assert isinstance(missed, Malformed)
    assert missed.mistake is mistake
    assert missed.name is CommandName.status


@pytest.mark.parametrize(
    "segments",
    [
        (),
        (US,),
        (FACE, text(".status")),
        (QUOTE, text("status")),
        (OTHER, text("status")),
        (text("hello\n.status"),),
        (text(" \u200b"), FACE),
    ],
)
def test_what_means_no_command_is_no_near_miss(segments: tuple[Segment, ...]) -> None:
    assert near_miss(message(*segments)) is None


def test_roles_come_from_numbers_alone() -> None:
    owners, members = {UserId(1)}, {UserId(1), UserId(2)}

    roles = [role_of(UserId(n), owners=owners, members=members) for n in (1, 2, 3)]

    assert roles == [Role.owner, Role.member, None]


def test_members_use_what_is_not_for_owners_and_strangers_nothing() -> None:
    for_members = {name for name in CommandName if may_use(name, Role.member)}

    assert for_members == {
        CommandName.status,
        CommandName.cancel,
        CommandName.tasks,
        CommandName.task,
        CommandName.whoami,
        CommandName.help,
    }
    assert all(may_use(name, Role.owner) for name in CommandName)
    assert not any(may_use(name, None) for name in CommandName)


def test_a_task_is_ended_by_who_asked_for_it_and_by_owners() -> None:
    one, two = UserId(1), UserId(2)

    assert may_cancel(role=Role.owner, user=one, requester=two)
    assert may_cancel(role=Role.member, user=one, requester=one)
    assert not may_cancel(role=Role.member, user=one, requester=two)
    assert not may_cancel(role=None, user=one, requester=one)


def test_the_status_of_an_idle_group_is_three_lines() -> None:
    said = answer_status(StatusFacts(task=None, most_sandboxes=3), Language.en)

    assert len(said.split("\n")) == 3


def test_the_status_counts_steps_from_one_and_lists_five_tickets() -> None:
    facts = StatusFacts(
        task=TaskFacts(
            task=TaskId("T-222222"),
            requester="r" * 25,
            state=TaskState.running,
            step=0,
            elapsed_ms=61_000,
        ),
        tickets=tuple(
            PendingTicket(ticket=TicketId(f"K7Q2{n}"), action="a" * 61, left_ms=1_000)
            for n in range(2, 9)
        ),
        sandboxes=(SandboxFacts(name=SandboxName("lab"), state=SandboxState.ready, left_ms=1_000),),
        most_sandboxes=3,
        image_switch=SwitchFacts(),
        orphans=4,
        unknown_operations=5,
        outbox_waiting=6,
        connection_fault="silent",
    )
    lines = answer_status(facts, Language.en).split("\n")

    assert "step 1" in lines[0]
    assert "1 min 1 s" in lines[0]
    assert "r" * 23 + "…" in lines[0]
    assert MAX_LISTED == 5
    assert [f"K7Q2{n}" in line for n, line in enumerate(lines[1:6], 2)] == [True] * 5
    assert "a" * 59 + "…" in lines[1]
    assert "2" in lines[6]
    assert "lab" in lines[7]
    assert [str(n) in line for n, line in zip((4, 5, 6), lines[9:12], strict=True)] == [True] * 3
    assert len(lines) == 13


def test_a_task_that_is_being_cancelled_says_so() -> None:
    def say(*, cancelling: bool) -> str:
        task = TaskFacts(
            task=TaskId("T-222222"),
            requester="r",
            state=TaskState.running,
            step=1,
            elapsed_ms=1,
            cancelling=cancelling,
        )
        return answer_status(StatusFacts(task=task, most_sandboxes=3), Language.en)

    assert say(cancelling=True) != say(cancelling=False)
    assert "step 2" in say(cancelling=False)


def test_the_recovery_queue_lists_five_and_counts_the_rest() -> None:
    items = [RecoveryItem(operation=OperationId(f"op-{n}"), action="a", age_ms=1) for n in range(7)]

    assert len(answer_recovery(items[:5], Language.en).split("\n")) == 6
    assert len(answer_recovery(items, Language.en).split("\n")) == 7
    assert "op-5" not in answer_recovery(items, Language.en)
    assert answer_recovery([], Language.en) != answer_recovery(items[:1], Language.en)


def test_no_fact_that_people_wrote_is_in_a_representation() -> None:
    ticket = PendingTicket(ticket=TicketId("K7Q2M"), action="secret-action", left_ms=1)
    item = RecoveryItem(operation=OperationId("op-1"), action="secret-action", age_ms=1)
    task = TaskFacts(
        task=TaskId("T-1"), requester="secret", state=TaskState.running, step=1, elapsed_ms=1
    )
    parsed = parse_line(".image intro secret")

    assert not any("secret" in repr(fact) for fact in (ticket, item, task, parsed))
