"""What is kept for programs is told to people: names first, words for keys, our own name."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from perlica.protection import POLICY_VERSION as RULES_VERSION
from perlica.protection import JsonValue
from perlica.stores.database import Database
from tests.console.people import Person
from tests.console.seeder import IMAGE, OTHER_OWNER, POLICY_VERSION, SELF, Seeder, sealed_json
from tests.console.seeding import Seeded


@pytest.fixture
def seeder(path: Path) -> Iterator[Seeder]:
    """Writes into the database that `viewer` looks at."""
    with Database.open(path) as db:
        yield Seeder(db)


def test_a_ticket_tells_its_policy_and_the_protection_rules_apart(
    looking: Person, seeded: Seeded
) -> None:
    operation = looking.read(f"/tickets/{seeded.spent}").split("凭它执行的操作 ")[1].split()[0]

    for page in (f"/tickets/{seeded.spent}", f"/operations/{operation}"):
        text = looking.read(page)
        assert f"策略版本 {POLICY_VERSION}" in text
        assert f"凭据防护规则版本 {RULES_VERSION}" in text


def test_a_ticket_names_its_sandbox_before_any_digest(looking: Person, seeded: Seeded) -> None:
    listed = looking.read("/tickets")
    target = looking.read(f"/tickets/{seeded.ticket}").split("目标")[1].split("动作计划")[0]

    assert "沙箱 bench · 节点 node-1 · 实例 b2f1c0" in listed
    assert IMAGE.digest not in listed
    assert target.index("沙箱 bench") < target.index("镜像修订 3") < target.index(IMAGE.digest)
    assert "…" not in target


def test_the_audit_speaks_words_and_keeps_the_raw_ones(looking: Person) -> None:
    text = looking.read("/audit")

    assert "请求审批 ticket.asked" in text
    assert "动作 删除沙箱 (sandbox.delete)" in text
    assert "原因 超过了总时长上限 (wall_time)" in looking.read("/audit?text=wall_time")


@pytest.mark.parametrize("verdict", ["approved", "not_owner"])
def test_a_decision_is_told_in_both_languages(seeder: Seeder, viewer: Person, verdict: str) -> None:
    detail = sealed_json({"verdict": verdict, "approve": True})
    with seeder.db.transaction():
        seeder.audit.add_event("ticket.decision", actor="member:30003", detail=detail)
    words = {"approved": ("已批准", "approved"), "not_owner": ("不是 Owner", "not an Owner")}

    chinese, english = words[verdict]
    assert f"结论 {chinese}" in viewer.read("/audit")
    viewer.get("/audit?lang=en")
    assert "Decision on an approval ticket.decision" in viewer.read("/audit")
    assert f"verdict {english}" in viewer.read("/audit")


def test_a_request_calls_us_by_name_and_others_by_number(seeder: Seeder, viewer: Person) -> None:
    task = seeder.begin(f"@{SELF}0 和 @{OTHER_OWNER}")

    for page in ("/", "/tasks", f"/tasks/{task}"):
        assert f"@Perlica @{SELF}0 和 @{OTHER_OWNER}" in viewer.read(page), page


def test_a_sessions_summary_is_a_list_and_no_json(seeder: Seeder, viewer: Person) -> None:
    task = seeder.begin("列出沙箱")
    summary: dict[str, JsonValue] = {
        "reason": "answered",
        "elapsed_ms": 263,
        "model_calls": 6,
        "tool_calls": 4,
        "input_tokens": 2_781,
        "output_tokens": 139,
        "usage_is_estimate": True,
        "operations": [{"id": "op-1", "action": "sandbox.create", "state": "succeeded"}],
    }
    with seeder.db.transaction():
        seeder.sessions.insert_summary(task, sealed_json(summary))

    text = viewer.read(f"/tasks/{task}").split("Session 摘要")[1].split("时间线")[0]

    assert "结束原因 已回答" in text
    assert "token 入 / 出 2,781 / 139（估计）" in text
    assert "创建沙箱 成功 op-1" in text
    assert "{" not in text


def test_an_operation_that_ended_after_its_task_is_not_called_going_on_for_ever(
    seeder: Seeder, viewer: Person
) -> None:
    task = seeder.begin("删除沙箱")
    operation = seeder.execute(
        task, None, action="sandbox.delete", plan={"action": "sandbox.delete"}, outcome={}
    )
    listed = [{"id": operation, "action": "sandbox.delete", "state": "started"}]
    summary: dict[str, JsonValue] = {"reason": "answered", "elapsed_ms": 1, "operations": listed}
    with seeder.db.transaction():
        seeder.sessions.insert_summary(task, sealed_json(summary))

    text = viewer.read(f"/tasks/{task}").split("Session 摘要")[1].split("时间线")[0]

    assert f"删除沙箱 成功 {operation}" in text
    assert "进行中" not in text


@pytest.mark.parametrize(
    "damaged",
    [
        '{"reason": "<b>\\u202e", "operations": [{"id": "\\ud800", "action": 7}, null, "x"]}',
        '{"elapsed_ms": -1, "model_calls": 1e999, "tool_calls": true, "operations": {"a": 1}}',
        '{"elapsed_ms": 1' + "0" * 400 + ', "input_tokens": [], "output_tokens": 3}',
        '{"reason": ["answered"]}',
        "no JSON <b>",
    ],
)
def test_a_damaged_summary_is_shown_as_text(seeder: Seeder, viewer: Person, damaged: str) -> None:
    task = seeder.begin("列出沙箱")
    with seeder.db.transaction():
        seeder.sessions.insert_summary(task, sealed_json({}))
        seeder.db.change("UPDATE session_summaries SET content = :text", {"text": damaged})

    answer = viewer.get(f"/tasks/{task}")

    assert answer.status_code == 200
    assert "Session 摘要" in answer.text
    assert "<b>" not in answer.text.split("Session 摘要")[1].split("时间线")[0]
