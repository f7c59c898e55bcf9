"""Low, Medium, High and Block as the group sees them."""

import json
from pathlib import Path

import pytest

from perlica.demo.model import Call, Reply, ScriptedModel
from perlica.demo.napcat import NapCatStandIn
from tests.behaviour.asking import create, delete, run
from tests.behaviour.conftest import MakeLive
from tests.behaviour.live import MEMBER, OTHER_OWNER, LivePerlica, is_final

APPROVE_IN = ".approve "


def results(model: ScriptedModel) -> list[str]:
    """What the model was told of its calls, in the last request."""
    return [str(m["content"]) for m in model.requests[-1]["messages"] if m["role"] == "tool"]


@pytest.mark.evidence(7)
def test_a_low_action_runs_without_asking_and_is_audited(
    live: LivePerlica, model: ScriptedModel, napcat: NapCatStandIn
) -> None:
    model.add(Reply(calls=(create(), run("echo", "hallo"))), Reply(text="好"), Reply(text="好"))

    asked = napcat.say(MEMBER, "跑一下", mention=True)
    napcat.wait_for_reply(is_final, after=asked)

    assert not any(APPROVE_IN in message.text for message in napcat.sent)
    audited = "SELECT count(*) FROM audit_events WHERE kind = 'operation.planned' AND level = 'low'"
    assert live.count(audited) == 1


@pytest.mark.evidence(12)
def test_medium_actions_of_one_turn_are_announced_in_one_message(
    live: LivePerlica, model: ScriptedModel, napcat: NapCatStandIn
) -> None:
    describe = {"action": "describe", "name": "one", "purpose": "试验"}
    model.add(
        Reply(calls=(create("one"), create("two"), Call(tool="sandbox_manage", arguments=describe)))
    )
    model.add(Reply(text="好"))

    asked = napcat.say(MEMBER, "建两个沙箱", mention=True)
    napcat.wait_for_reply(is_final, after=asked)

    announced = [m.text for m in napcat.sent if "已按策略自动执行" in m.text]
    assert len(announced) == 1
    assert "one" in announced[0]
    assert "two" in announced[0]
    assert "修改沙箱描述" in announced[0]


@pytest.mark.evidence(9)
def test_what_ran_by_itself_is_announced_before_the_question_that_follows_it(
    live: LivePerlica, model: ScriptedModel, napcat: NapCatStandIn
) -> None:
    model.add(Reply(calls=(create(), delete())))

    napcat.say(MEMBER, "建了再删", mention=True)
    napcat.wait_for_reply(lambda m: APPROVE_IN in m.text)

    announced, question = napcat.sent
    assert "已按策略自动执行" in announced.text
    assert APPROVE_IN in question.text


@pytest.mark.evidence(9)
def test_a_high_action_waits_and_says_whom_it_waits_for(
    live: LivePerlica, model: ScriptedModel, napcat: NapCatStandIn
) -> None:
    model.add(Reply(calls=(create(), delete())))

    napcat.say(MEMBER, "删掉", mention=True)
    question = napcat.wait_for_reply(lambda m: APPROVE_IN in m.text)

    for shown in (
        "删除沙箱",
        "沙箱：main",
        "将被销毁",
        "影响范围",
        "出站目的地",
        "计划短哈希",
        "有效期",
    ):
        assert shown in question.text
    assert live.count("SELECT count(*) FROM tasks WHERE state = 'waiting_approval'") == 1
    assert live.count("SELECT count(*) FROM operations WHERE level = 'high'") == 0


@pytest.mark.evidence(8)
def test_an_action_that_the_policy_does_not_list_is_refused_and_audited(
    tmp_path: Path, make_live: MakeLive, model: ScriptedModel, napcat: NapCatStandIn
) -> None:
    policy = tmp_path / "policy.toml"
    policy.write_text('version = "narrow"\n[low]\n"sandbox.list" = ["service"]\n')
    live = make_live(model.base_url, extra=f'[policy]\nfile = "{policy}"\n')
    model.add(Reply(calls=(create(), run("echo", "x"))), Reply(text="不行"))

    asked = napcat.say(MEMBER, "跑", mention=True)
    answer = napcat.wait_for_reply(is_final, after=asked)

    assert "blocked by policy" in results(model)[0]
    assert "实际执行】无" in answer.text
    assert live.backend.reconcile() == ()
    assert live.count("SELECT count(*) FROM operations") == 0
    refused = (
        "SELECT count(*) FROM audit_events WHERE kind='call.refused' AND detail LIKE '%block%'"
    )
    assert live.count(refused) == 1


@pytest.mark.evidence(8)
@pytest.mark.parametrize(
    ("tool", "arguments"),
    [
        ("sandbox_exec", {"sandbox": "main", "argv": ["id"], "privileged": True}),
        ("sandbox_exec", {"sandbox": "main", "argv": "id; cat /etc/shadow"}),
        ("sandbox_exec", {"sandbox": "main", "argv": []}),
        ("sandbox_exec", {"sandbox": "main", "argv": ["id"], "timeout_s": "1"}),
        ("sandbox_read", {"sandbox": "main", "path": "/x", "offset_bytes": 10**20}),
        ("sandbox_read", {"sandbox": "main", "path": "/x", "offset_bytes": -1}),
        ("sandbox_manage", {"action": "create", "name": "../host"}),
        ("sandbox_manage", {"action": "create", "name": "box", "image": "debian:latest"}),
        ("group_search_history", {"query": "x", "sql": "SELECT 1"}),
    ],
)
def test_arguments_that_do_not_fit_the_schema_run_nothing(
    live: LivePerlica,
    model: ScriptedModel,
    napcat: NapCatStandIn,
    tool: str,
    arguments: dict[str, object],
) -> None:
    model.add(Reply(calls=(create(), Call(tool=tool, arguments=arguments))), Reply(text="好"))

    asked = napcat.say(MEMBER, "试试", mention=True)
    napcat.wait_for_reply(is_final, after=asked)

    assert "not executed" in results(model)[1]
    assert live.count("SELECT count(*) FROM operations") == 1


@pytest.mark.evidence(12)
def test_plan_parameters_identity_target_ticket_and_result_of_an_action_can_be_read_back(
    live: LivePerlica, model: ScriptedModel, napcat: NapCatStandIn
) -> None:
    model.add(Reply(calls=(create(), run("echo", "hallo"), delete())), Reply(text="好"))
    napcat.say(MEMBER, "做三件", mention=True)
    question = napcat.wait_for_reply(lambda m: APPROVE_IN in m.text)
    ticket, code = question.text.split(APPROVE_IN)[1].split()[:2]

    napcat.say(OTHER_OWNER, f"{APPROVE_IN}{ticket} {code}")
    napcat.wait_for_reply(is_final, after=question)

    with live.database() as database:
        rows = {row["action"]: row for row in database.query("SELECT * FROM operations")}
        decided = database.query("SELECT * FROM approvals")[0]
        outputs = database.query("SELECT content, protection_status FROM tool_outputs")
    ran, deleted = (
        json.loads(rows["sandbox.exec"]["plan"]),
        json.loads(rows["sandbox.delete"]["plan"]),
    )
    assert ran["effect"]["argv"] == ["echo", "hallo"]
    assert ran["identity"] == "sandboxd"
    assert ran["target"]["instance"]
    assert json.loads(rows["sandbox.exec"]["outcome"])["exit_code"] == 0
    assert deleted["target"]["sandbox"] == "main"
    assert rows["sandbox.delete"]["ticket_id"] == decided["id"] == ticket
    assert rows["sandbox.delete"]["plan_hash"] == decided["plan_hash"]
    assert decided["decided_by"] == OTHER_OWNER
    assert any("hallo" in row["content"] for row in outputs)
    assert {row["protection_status"] for row in outputs} <= {"scanned_no_findings", "redacted"}


@pytest.mark.evidence(11)
def test_the_model_is_offered_the_structured_tools_and_nothing_else(
    live: LivePerlica, model: ScriptedModel, napcat: NapCatStandIn
) -> None:
    model.add(Reply(calls=(Call(tool="bash", arguments={"command": "id"}),)), Reply(text="好"))

    asked = napcat.say(MEMBER, "跑 bash", mention=True)
    napcat.wait_for_reply(is_final, after=asked)

    offered = {tool["function"]["name"] for tool in model.requests[0]["tools"]}
    assert offered & {"bash", "read", "write", "edit", "shell"} == set()
    assert all(name.startswith(("sandbox_", "group_")) for name in offered)
    assert "没有" in results(model)[0] or "no such tool" in results(model)[0]
    assert live.count("SELECT count(*) FROM operations") == 0
