"""Dot commands of the task room: who may use them and what they tell."""

import pytest

from perlica.demo.model import Held, Reply, ScriptedModel
from perlica.demo.napcat import NapCatStandIn
from tests.behaviour.asking import ask_for_delete, create, run
from tests.behaviour.live import GUEST, MEMBER, OWNER, LivePerlica, is_final, wait_until


def _ask(napcat: NapCatStandIn, user: int, line: str) -> str:
    said = napcat.say(user, line)
    return napcat.wait_for_reply(after=said).text


def _do_something(model: ScriptedModel, napcat: NapCatStandIn) -> str:
    """One finished task; its id."""
    model.add(Reply(calls=(create(), run("echo", "x"))), *[Reply(text="好")] * 2)
    asked = napcat.say(MEMBER, "做点事", mention=True)
    answer = napcat.wait_for_reply(is_final, after=asked)
    return answer.text.split("· ")[1].split("】")[0]


def test_tasks_and_one_task_tell_what_became_of_it(
    live: LivePerlica, model: ScriptedModel, napcat: NapCatStandIn
) -> None:
    assert "还没有任务" in _ask(napcat, MEMBER, ".tasks")
    task = _do_something(model, napcat)

    listed = _ask(napcat, MEMBER, ".tasks")
    told = _ask(napcat, MEMBER, f".task {task}")
    unknown = _ask(napcat, MEMBER, ".task T-AAAAAA")

    assert task in listed
    assert "已完成" in listed
    assert "创建沙箱（main）：成功" in told
    assert "echo x" in told
    assert "模型 3 次" in told
    assert "没有任务 T-AAAAAA" in unknown


def test_the_audit_is_for_owners_and_names_what_happened(
    live: LivePerlica, model: ScriptedModel, napcat: NapCatStandIn
) -> None:
    task = _do_something(model, napcat)

    told = _ask(napcat, OWNER, f".audit {task}")
    everything = _ask(napcat, OWNER, ".audit")
    refused = _ask(napcat, MEMBER, ".audit")

    assert "任务结束（已回答），Perlica" in told
    assert "开始执行操作（创建沙箱、沙箱 main）" in told
    assert f"任务 {task}" in told
    assert task in everything
    assert "只有 Owner" in refused


def test_a_task_with_an_approval_names_it_and_how_it_was_decided(
    live: LivePerlica, model: ScriptedModel, napcat: NapCatStandIn
) -> None:
    question, ticket, code = ask_for_delete(napcat, model)
    model.add(Reply(text="没有删"))
    napcat.say(OWNER, f".deny {ticket}")
    answer = napcat.wait_for_reply(is_final, after=question)
    task = answer.text.split("· ")[1].split("】")[0]

    told = _ask(napcat, MEMBER, f".task {task}")

    assert f"审批 {ticket}：删除沙箱，已拒绝" in told
    assert code not in told


@pytest.mark.parametrize(("user", "role"), [(OWNER, "Owner"), (MEMBER, "成员")])
def test_everybody_listed_can_ask_who_he_is(
    live: LivePerlica, napcat: NapCatStandIn, user: int, role: str
) -> None:
    told = _ask(napcat, user, ".whoami")

    assert str(user) in told
    assert role in told


def test_somebody_who_is_not_listed_gets_no_answer_to_any_command(
    live: LivePerlica, napcat: NapCatStandIn
) -> None:
    for line in (".whoami", ".tasks", ".help", ".nonsense"):
        napcat.say(GUEST, line)

    assert "Owner" in _ask(napcat, OWNER, ".whoami")
    assert len(napcat.sent) == 1


def test_a_member_cannot_cancel_the_task_of_another(
    live: LivePerlica, model: ScriptedModel, napcat: NapCatStandIn
) -> None:
    held = Held(reply=Reply(text="做完了"))
    model.add(held)
    asked = napcat.say(OWNER, "想一想", mention=True)
    model.wait_for_request()

    refused = _ask(napcat, MEMBER, ".cancel")
    held.released.set()
    answer = napcat.wait_for_reply(lambda m: "做完了" in m.text, after=asked)

    assert "只能由发起人或 Owner" in refused
    assert answer.text


@pytest.mark.evidence(10)
def test_an_unknown_command_is_answered_with_help_and_never_reaches_the_model(
    live: LivePerlica, model: ScriptedModel, napcat: NapCatStandIn
) -> None:
    said = napcat.say(MEMBER, ".aprove K7Q2M 123456", mention=True)

    answer = napcat.wait_for_reply(after=said)

    assert ".approve" in answer.text
    assert model.requests == ()
    assert live.count("SELECT count(*) FROM tasks") == 0
    assert live.count("SELECT count(*) FROM group_messages WHERE content LIKE '%123456%'") == 0


def test_a_cancelled_task_says_who_cancelled_it_and_stops_its_command(
    live: LivePerlica, model: ScriptedModel, napcat: NapCatStandIn
) -> None:
    model.add(Reply(calls=(create(), run("sleep", "1000"))))
    asked = napcat.say(MEMBER, "睡", mention=True)
    started = "SELECT count(*) FROM operations WHERE action='sandbox.exec' AND state='started'"
    wait_until(lambda: live.count(started) == 1)

    napcat.say(OWNER, ".cancel")

    told = napcat.wait_for_reply(lambda m: "已取消" in m.text, after=asked).text
    with live.database() as database:
        named = "SELECT DISTINCT display_name FROM group_messages WHERE user_id = :user"
        (row,) = database.query(named, {"user": OWNER})
    assert f"已取消：{row['display_name']} 取消了它。" in told
    assert "sleep 1000：正在中止" in told
