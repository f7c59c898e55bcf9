"""What failed is called failed in every place where people read of it: group, commands, console."""

import time
from collections.abc import Iterator

import pytest
import time_machine

from perlica.console.pages.timeline import call_badge
from perlica.console.wording import Wording
from perlica.demo.model import Call, Reply, ScriptedModel
from perlica.demo.napcat import Message, NapCatStandIn
from perlica.domain.operation import OperationState
from perlica.domain.sandbox import CommandOutcome
from perlica.domain.texts import Language
from perlica.domain.texts.endings import did_fail, say_ending
from perlica.gateway.core.approval_text import CHINA_TIME
from perlica.gateway.families.sandbox.results import present
from perlica.gateway.known_actions import CATALOG
from perlica.sandboxes.jobs import facts_of, state_of
from perlica.stores.views.operations import find_for_call
from perlica.stores.views.transcript import find_call
from tests.behaviour.asking import APPROVE, ask_for_delete, create, run
from tests.behaviour.live import OWNER, LivePerlica, is_final

WORDS = Wording(language=Language.zh, zone=CHINA_TIME, now_ms=0, actions=CATALOG)


def outcome(ended: str, **more: int | bool | None) -> CommandOutcome:
    """A command's end as a node tells it."""
    facts: dict[str, object] = {"exit_code": None, "signal": None, **more}
    return CommandOutcome(
        ended=ended,
        stdout=b"",
        stderr=b"",
        stdout_bytes=0,
        stderr_bytes=0,
        duration_ms=1,
        **facts,  # type: ignore[arg-type]
    )


ENDINGS = [
    (outcome("exited", exit_code=3), "失败（退出码 3）", "failed (exit code 3)"),
    (
        outcome("signalled", signal=9),
        "失败（被信号 SIGKILL 中止）",
        "failed (ended by a signal (SIGKILL))",
    ),
    (
        outcome("signalled", signal=9, out_of_memory=True),
        "失败（被信号 SIGKILL 中止，内存不足）",
        "failed (ended by a signal (SIGKILL), out of memory)",
    ),
    (
        outcome("exited", exit_code=137, out_of_memory=True),
        "失败（退出码 137，内存不足）",
        "failed (exit code 137, out of memory)",
    ),
    (outcome("timed_out"), "失败（超时中止）", "failed (stopped at its time limit)"),
    (outcome("failed_to_start"), "失败（没能启动）", "failed (could not start)"),
]


@pytest.mark.parametrize(("ended", "zh", "en"), ENDINGS)
def test_a_command_that_did_not_end_well_is_a_failed_operation_with_its_reason(
    ended: CommandOutcome, zh: str, en: str
) -> None:
    state, facts = state_of(ended), facts_of(ended)

    assert state is OperationState.failed
    assert did_fail(state, facts)
    assert say_ending(state, facts, Language.zh) == zh
    assert say_ending(state, facts, Language.en) == en


@pytest.mark.parametrize(("ended", "zh"), [(ended, zh) for ended, zh, _ in ENDINGS])
def test_a_row_of_an_earlier_version_that_says_succeeded_is_read_by_its_facts(
    ended: CommandOutcome, zh: str
) -> None:
    badge = WORDS.operation_badge("succeeded", facts_of(ended))

    assert (badge.text, badge.tone) == (zh, "bad")


def test_a_command_that_ended_well_beside_a_process_that_was_killed_for_memory_says_both() -> None:
    ended = outcome("exited", exit_code=0, out_of_memory=True)

    assert state_of(ended) is OperationState.succeeded
    assert "内存不足" in say_ending("succeeded", facts_of(ended), Language.zh)
    told = present("main", ended).text
    assert "memory limit" in (told if isinstance(told, str) else told.content)


@pytest.mark.evidence(12)
def test_a_failed_command_is_called_failed_in_answer_operations_task_and_console(
    live: LivePerlica, model: ScriptedModel, napcat: NapCatStandIn
) -> None:
    model.add(Reply(calls=(create(), run("false"), run("nonsense"))), *[Reply(text="都好了")] * 2)

    asked = napcat.say(OWNER, "跑", mention=True)
    answer = napcat.wait_for_reply(is_final, after=asked)
    operations = ask(napcat, ".sbx ops main")
    task = ask(napcat, ".task " + task_of(live))

    for said in (answer, operations, task):
        assert "失败（退出码 1）" in said.text, said.text
        assert "失败（没能启动）" in said.text, said.text
    assert operations.text.count("成功") == 1  # its creation
    badges = list(call_badges(live))
    assert [badge[0] for badge in badges] == ["成功", "失败（退出码 1）", "失败（没能启动）"]
    assert [badge[1] for badge in badges] == ["good", "bad", "bad"]
    failed = "SELECT count(*) FROM operations WHERE action = 'sandbox.exec' AND state = 'failed'"
    assert live.count(failed) == 2


def test_a_call_that_was_refused_is_not_called_done(
    live: LivePerlica, model: ScriptedModel, napcat: NapCatStandIn
) -> None:
    unfit = Call(tool="sandbox_exec", arguments={"sandbox": "main", "argv": []})
    model.add(Reply(calls=(run("ls"), unfit, Call(tool="bash", arguments={}))), Reply(text="好"))

    asked = napcat.say(OWNER, "跑", mention=True)
    napcat.wait_for_reply(is_final, after=asked)

    assert list(call_badges(live)) == [("没有执行", "bad")] * 3


def test_a_task_whose_approval_was_denied_says_so_in_its_answer_and_its_record(
    live: LivePerlica, model: ScriptedModel, napcat: NapCatStandIn
) -> None:
    question, ticket, _ = ask_for_delete(napcat, model)
    model.add(Reply(text="已经删掉了"))

    napcat.say(OWNER, f".deny {ticket}")
    answer = napcat.wait_for_reply(is_final, after=question)
    shown = ask(napcat, ".task " + task_of(live))
    listed = ask(napcat, ".tasks")

    assert "【没有执行】\n- 删除沙箱（main）：审批被拒绝" in answer.text
    assert "已答复，没有执行" in shown.text
    assert "原因：审批被拒绝" in shown.text
    assert "已答复，没有执行" in listed.text
    for said in (shown, listed):
        assert "已完成" not in said.text
        assert "已回答" not in said.text
    assert WORDS.task_badge("completed", "approval_denied").tone == "wait"


def test_a_task_whose_approval_expired_says_so(
    live: LivePerlica, model: ScriptedModel, napcat: NapCatStandIn
) -> None:
    with time_machine.travel(time.time() + 60, tick=True) as clock:
        question, ticket, code = ask_for_delete(napcat, model)
        model.add(Reply(text="好了"))
        clock.shift(601)
        napcat.say(OWNER, f".approve {ticket} {code}")
        answer = napcat.wait_for_reply(is_final, after=question)

    assert "【没有执行】\n- 删除沙箱（main）：审批过期" in answer.text
    assert live.count("SELECT count(*) FROM tasks WHERE end_reason = 'approval_expired'") == 1


def test_an_action_that_was_denied_and_asked_for_again_and_granted_is_done(
    live: LivePerlica, model: ScriptedModel, napcat: NapCatStandIn
) -> None:
    question, ticket, _ = ask_for_delete(napcat, model)
    again = Call(tool="sandbox_manage", arguments={"action": "delete", "name": "main"})
    model.add(Reply(calls=(again,)), Reply(text="好了"))

    denied = napcat.say(OWNER, f".deny {ticket}")
    question = napcat.wait_for_reply(lambda m: bool(APPROVE.search(m.text)), after=denied)
    match = APPROVE.search(question.text)
    assert match is not None
    napcat.say(OWNER, f".approve {match.group(1)} {match.group(2)}")
    answer = napcat.wait_for_reply(is_final, after=question)

    assert "没有执行" not in answer.text
    assert live.count("SELECT count(*) FROM tasks WHERE end_reason = 'answered'") == 1


def ask(napcat: NapCatStandIn, command: str) -> Message:
    """The answer to a command."""
    said = napcat.say(OWNER, command)
    return napcat.wait_for_reply(after=said)


def task_of(live: LivePerlica) -> str:
    """The newest task."""
    with live.database() as database:
        return str(database.query("SELECT id FROM tasks ORDER BY rowid DESC LIMIT 1")[0]["id"])


def call_badges(live: LivePerlica) -> Iterator[tuple[str, str]]:
    """What the console shows of each call, in order."""
    with live.database() as database:
        for row in database.query("SELECT id FROM tool_calls ORDER BY rowid"):
            call = find_call(database, row["id"])
            assert call is not None
            badge = call_badge(call, find_for_call(database, row["id"]), WORDS)
            yield badge.text, badge.tone
