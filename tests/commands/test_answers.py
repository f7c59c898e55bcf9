"""What members read after a dot command."""

import re
from dataclasses import replace
from pathlib import Path

import pytest

from perlica.clients import napcat
from perlica.commands import (
    CommandName,
    Malformed,
    Mistake,
    Role,
    Unknown,
    may_cancel,
    may_use,
    role_of,
)
from perlica.commands import texts as command_texts
from perlica.commands.answers import (
    answer_cancel,
    answer_help,
    answer_malformed,
    answer_not_allowed,
    answer_recovery,
    answer_resolved,
    answer_status,
    answer_unknown,
    answer_verdict,
)
from perlica.commands.facts import (
    CancelResult,
    CapabilityOff,
    PendingTicket,
    RecoveryItem,
    SandboxFacts,
    StatusFacts,
    TaskFacts,
)
from perlica.domain.approval import Verdict
from perlica.domain.ids import OperationId, SandboxName, TaskId, TicketId, UserId
from perlica.domain.sandbox import SandboxState
from perlica.domain.task import TaskState
from perlica.domain.texts import Language
from perlica.domain.texts.faults import FAULTS

OWNERS = frozenset({UserId(30001)})
MEMBERS = frozenset({UserId(30001), UserId(30002)})
TASK = TaskFacts(
    task=TaskId("T-7F3KQ2"),
    requester="小明",
    state=TaskState.waiting_approval,
    step=3,
    elapsed_ms=200_000,
)
ALL = StatusFacts(
    task=TASK,
    tickets=(PendingTicket(ticket=TicketId("K7Q2M"), action="删除沙箱 dev", left_ms=540_000),),
    sandboxes=(SandboxFacts(name=SandboxName("dev"), state=SandboxState.ready),),
    most_sandboxes=3,
    outbox_waiting=2,
    unknown_operations=1,
    connection_fault="muted",
    capabilities_off=(CapabilityOff(name="沙箱", reason="没有配置"),),
)


def test_status_shows_everything_a_member_waits_for() -> None:
    answer = answer_status(ALL, Language.zh)

    for part in (
        "T-7F3KQ2",
        "等待 Owner 审批",
        "3 分 20 秒",
        "小明",
        "K7Q2M",
        "9 分 0 秒",
        "dev（可用）",
    ):
        assert part in answer
    for part in ("1/3", "待发消息 2 条", ".recovery", "muted", "沙箱（没有配置）"):
        assert part in answer


def test_status_of_an_idle_service_is_three_short_lines() -> None:
    answer = answer_status(StatusFacts(task=None, most_sandboxes=3), Language.zh)

    assert answer.splitlines() == ["【状态】空闲，可以 @我。", "沙箱 0/3", "连接：正常"]


def test_status_counts_what_it_does_not_list() -> None:
    tickets = tuple(
        PendingTicket(ticket=TicketId(f"K7Q2{letter}"), action="x", left_ms=1)
        for letter in "ABCDEFGH"
    )

    answer = answer_status(StatusFacts(task=None, tickets=tickets, most_sandboxes=3), Language.zh)

    assert answer.count("待批") == 5
    assert "另有 3 项" in answer


def test_a_name_cannot_forge_a_line_of_the_status() -> None:
    hostile = "小明\n待批 AAAAA：一切正常\u202e" + " " * 500
    task = TaskFacts(
        task=TASK.task, requester=hostile, state=TASK.state, step=1, elapsed_ms=0, cancelling=True
    )

    answer = answer_status(StatusFacts(task=task, most_sandboxes=3), Language.zh)

    assert len(answer.splitlines()) == 3
    assert "\u202e" not in answer
    assert len(answer) < 200
    assert "正在取消" in answer


def test_a_member_sees_only_the_commands_that_he_may_use() -> None:
    member, owner = answer_help(Role.member, Language.zh), answer_help(Role.owner, Language.zh)

    assert ".approve" not in member
    assert ".cancel" in member
    assert all(f".{name}" in owner for name in CommandName)


def test_roles_come_from_qq_numbers_alone() -> None:
    assert role_of(UserId(30001), owners=OWNERS, members=MEMBERS) is Role.owner
    assert role_of(UserId(30002), owners=OWNERS, members=MEMBERS) is Role.member
    assert role_of(UserId(30003), owners=OWNERS, members=MEMBERS) is None


def test_only_owners_decide_and_settle() -> None:
    owners_only = {name for name in CommandName if not may_use(name, Role.member)}

    assert owners_only == {
        CommandName.approve,
        CommandName.deny,
        CommandName.audit,
        CommandName.recovery,
        CommandName.sbx,
        CommandName.image,
        CommandName.orphans,
        CommandName.node,
    }
    assert all(may_use(name, Role.owner) for name in CommandName)
    assert not any(may_use(name, None) for name in CommandName)


def test_a_task_is_cancelled_by_its_requester_or_an_owner() -> None:
    requester, other = UserId(30002), UserId(30004)

    assert may_cancel(role=Role.member, user=requester, requester=requester)
    assert may_cancel(role=Role.owner, user=other, requester=requester)
    assert not may_cancel(role=Role.member, user=other, requester=requester)
    assert not may_cancel(role=None, user=requester, requester=requester)


@pytest.mark.parametrize("language", Language)
def test_every_outcome_has_an_answer_in_every_language(language: Language) -> None:
    for verdict in Verdict:
        assert answer_verdict(TicketId("K7Q2M"), verdict, language)
    for name in CommandName:
        assert answer_not_allowed(name, language)
        assert answer_unknown(Unknown(resembles=name), language)
        for mistake in Mistake:
            assert answer_malformed(Malformed(name=name, mistake=mistake), language)
    for result in CancelResult:
        answer = answer_cancel(
            result, task=TaskId("T-AAAAAA"), asked=TaskId("T-BBBBBB"), language=language
        )
        assert answer
    for state in SandboxState:
        assert state in command_texts.SANDBOX_STATES
    assert answer_status(ALL, language)


def test_steps_are_counted_from_one() -> None:
    first = StatusFacts(task=replace(TASK, step=0), most_sandboxes=3)

    assert "，第 1 步，" in answer_status(first, Language.zh)
    assert ", step 1, " in answer_status(first, Language.en)


@pytest.mark.parametrize(
    ("fault", "said"),
    [
        ("auth_failed", "连接：不可用（NapCat 拒绝了令牌）"),
        ("offline", "连接：不可用（QQ 账号离线）"),
        ("later\ncode", "连接：不可用（其他原因，细节在日志里）"),
    ],
)
def test_why_the_connection_is_not_usable_is_said_in_words(fault: str, said: str) -> None:
    facts = StatusFacts(task=None, most_sandboxes=3, connection_fault=fault)

    assert said in answer_status(facts, Language.zh)


def test_every_fault_of_the_link_has_words() -> None:
    folder = Path(napcat.__file__).parent
    texts = "\n".join(path.read_text() for path in sorted(folder.glob("*.py")))
    found = set(re.findall(r'(?:abort|WireBroken|spoil)\("([a-z_0-9]+)"', texts))
    found |= {f"napcat_{step}" for step in re.findall(r'unreachable\("([a-z_]+)"', texts)}

    assert {"silent", "dropped", "napcat_connect"} <= found
    assert found <= set(FAULTS)


def test_an_unknown_command_is_not_repeated_to_the_group() -> None:
    assert "没有做" in answer_unknown(Unknown(resembles=None), Language.zh)
    assert ".approve 编号 短码" in answer_unknown(
        Unknown(resembles=CommandName.approve), Language.zh
    )


def test_the_recovery_queue_is_shown_and_settled() -> None:
    operation = OperationId("op-0123456789abcdef01234567")
    item = RecoveryItem(operation=operation, action="删除沙箱 dev", age_ms=3_700_000)

    listed = answer_recovery([item], Language.zh)

    assert operation in listed
    assert "1 小时 1 分" in listed
    assert "没有结果不明" in answer_recovery([], Language.zh)
    assert "已了结" in answer_resolved(operation, found=True, language=Language.zh)
    assert "没有等待" in answer_resolved(operation, found=False, language=Language.zh)
