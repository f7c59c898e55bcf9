"""The approval message as a tired Owner reads it: one plain line first, the code last."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import pytest

from perlica.domain.ids import TicketId, UserId
from perlica.domain.plan import ActionPlan, JsonValue, Level, Origin, hash_plan
from perlica.domain.texts import Language
from perlica.gateway.core.approval_headline import AskedBy
from perlica.gateway.core.approval_text import MAX_CODE_POINTS, SHORT_HASH_DIGITS, approval_text
from perlica.gateway.core.policy_file import read_policy
from perlica.gateway.known_actions import CATALOG
from perlica.protection import Channel, protect

EXPIRES_AT_MS = 1_796_028_366_000
DIGEST = "sha256:" + "0123456789abcdef" * 4
OLD_DIGEST = "sha256:" + "fedcba9876543210" * 4
INSTANCE = "0123456789abcdef0123456789abcdef"
BY_MEMBER = AskedBy(user=UserId(30003), is_owner=False, by_command=False, name="小明")
BY_OWNER = AskedBy(user=UserId(30001), is_owner=True, by_command=True, name="小红")
TASK = Origin(kind="task", id="T-7F3KQ2")
COMMAND = Origin(kind="command", id="42")


def plan_of(action: str, origin: Origin = TASK, **changes: Any) -> ActionPlan:
    """A plan with the fields that the planner of this action fills in."""
    given: dict[str, Any] = {
        "action": action,
        "origin": origin,
        "identity": "perlica",
        "target": {},
        "scope": "service",
        "effect": {},
        "destination": "nodes:node-1",
        "expected": action,
        "policy_version": "3",
    }
    return ActionPlan(**{**given, **changes})


DELETE: Mapping[str, Any] = {
    "identity": "sandboxd",
    "target": {
        "sandbox": "main",
        "instance": INSTANCE,
        "node": "node-1",
        "image_digest": DIGEST,
        "image_revision": 3,
    },
    "scope": "sandbox",
    "effect": {"files": "destroyed"},
    "destination": "node:node-1",
    "expected": "delete",
}


def switch(*doomed: str) -> ActionPlan:
    destroys: list[JsonValue] = [
        {"name": name, "instance": INSTANCE, "node": "node-1"} for name in doomed
    ]
    return plan_of(
        "image.switch",
        COMMAND,
        target={"image_digest": DIGEST, "reference": "registry.example/dev:2"},
        effect={
            "from_digest": OLD_DIGEST,
            "from_revision": 3,
            "introduction": "带 Python 的 Debian",
            "destroys": destroys,
        },
    )


def write_off(*lost: str) -> ActionPlan:
    loses: list[JsonValue] = [{"name": name, "instance": INSTANCE} for name in lost]
    return plan_of(
        "node.write_off",
        COMMAND,
        target={"node": "node-2"},
        scope="node",
        effect={"verdict": "unreachable", "since_ms": 1_796_000_000_000, "loses": loses},
        destination="node:node-2",
    )


ORPHAN = plan_of(
    "orphan.delete",
    COMMAND,
    target={"orphan": 7, "sandbox": "old", "instance": INSTANCE, "node": "node-2"},
    scope="node",
    effect={"files": "destroyed"},
    destination="node:node-2",
)


def shown(plan: ActionPlan, asked_by: AskedBy, language: Language = Language.zh) -> str:
    return approval_text(
        plan,
        asked_by=asked_by,
        ticket=TicketId("K7Q2M"),
        code="123456",
        expires_at_ms=EXPIRES_AT_MS,
        language=language,
        actions=CATALOG,
    )


@dataclass(frozen=True, slots=True)
class Golden:
    """A plan, who asked, and the first line that an Owner reads."""

    plan: ActionPlan
    asked_by: AskedBy
    first: str


GOLDEN = [
    Golden(
        plan_of("sandbox.delete", **DELETE),
        BY_MEMBER,
        '成员 "小明"（30003）要删除沙箱 main：里面的文件会全部丢失，找不回来。',
    ),
    Golden(
        plan_of("sandbox.delete", COMMAND, **DELETE),
        BY_OWNER,
        'Owner "小红"（30001）发命令，要删除沙箱 main：里面的文件会全部丢失，找不回来。',
    ),
    Golden(
        switch("main", "web"),
        BY_OWNER,
        'Owner "小红"（30001）发命令，要把沙箱镜像换成 registry.example/dev:2：'
        "沙箱 main、web 会被删除，里面的文件全部丢失，找不回来。",
    ),
    Golden(
        switch(),
        BY_OWNER,
        'Owner "小红"（30001）发命令，要把沙箱镜像换成 registry.example/dev:2：'
        "现在没有沙箱，不会丢失文件。",
    ),
    Golden(
        write_off("main"),
        BY_OWNER,
        'Owner "小红"（30001）发命令，要核销节点 node-2：'
        "它上面的沙箱 main 会记为丢失，里面的文件找不回来。",
    ),
    Golden(
        write_off(),
        BY_OWNER,
        'Owner "小红"（30001）发命令，要核销节点 node-2：它上面没有沙箱，不会丢失文件。',
    ),
    Golden(
        ORPHAN,
        BY_OWNER,
        'Owner "小红"（30001）发命令，要删除节点 node-2 上不属于本服务的沙箱 old：'
        "里面的文件会全部丢失，找不回来。",
    ),
]


@pytest.mark.evidence(9)
@pytest.mark.parametrize("golden", GOLDEN, ids=lambda g: f"{g.plan.action} {g.asked_by.user}")
def test_the_first_line_says_what_happens_to_what_who_asked_and_what_is_lost(
    golden: Golden,
) -> None:
    lines = shown(golden.plan, golden.asked_by).splitlines()

    assert lines[0] == f"【审批请求 K7Q2M】{golden.first}"


@pytest.mark.evidence(9)
@pytest.mark.parametrize("golden", GOLDEN, ids=lambda g: f"{g.plan.action} {g.asked_by.user}")
@pytest.mark.parametrize("language", Language)
def test_the_code_stands_last_on_a_line_to_copy_and_hashes_stand_between(
    golden: Golden, language: Language
) -> None:
    text = shown(golden.plan, golden.asked_by, language)
    lines = text.splitlines()

    assert lines[-1] == ".approve K7Q2M 123456"
    assert lines[-3] == ".deny K7Q2M"
    assert text.count("123456 ") + text.endswith("123456") == 1
    between = "\n".join(lines[1:-4])
    assert hash_plan(golden.plan)[:SHORT_HASH_DIGITS] in between
    for exact in (INSTANCE, DIGEST):
        assert exact not in lines[0]
        assert (exact in between) == (exact in str(golden.plan.effect_fields()))
    assert len(text) <= MAX_CODE_POINTS
    assert protect(text, Channel.OUTBOX).content == text


def test_the_whole_message_of_a_deletion_reads_like_this() -> None:
    plan = plan_of("sandbox.delete", **DELETE)

    assert shown(plan, BY_MEMBER) == "\n".join(
        [
            f"【审批请求 K7Q2M】{GOLDEN[0].first}",
            "动作：删除沙箱（sandbox.delete）",
            "沙箱：main",
            "节点：node-1",
            "文件：将被销毁",
            f"镜像摘要：{DIGEST}",
            "镜像修订：3",
            f"沙箱实例：{INSTANCE}",
            "影响范围：一个沙箱",
            "出站目的地：节点 node-1",
            "预期结果：删除",
            "执行身份：sandboxd",
            "发起：任务 T-7F3KQ2",
            "策略版本：3",
            f"计划短哈希：{hash_plan(plan)[:SHORT_HASH_DIGITS]}",
            "有效期：到 16:46:06 (UTC+08:00)，只执行一次，任何一项变化都要重新审批",
            "拒绝请单独发：",
            ".deny K7Q2M",
            "同意请单独发：",
            ".approve K7Q2M 123456",
        ]
    )


def test_the_first_line_in_english() -> None:
    plan = plan_of("sandbox.delete", **DELETE)

    assert shown(plan, BY_OWNER, Language.en).splitlines()[0] == (
        '【Approval K7Q2M】Owner "小红" (30001) ordered to '
        "delete sandbox main: all its files are lost for good."
    )


def test_a_switch_of_all_three_sandboxes_can_be_asked_for() -> None:
    text = shown(switch("a" * 32, "b" * 32, "c" * 32), BY_OWNER)

    assert len(text) <= MAX_CODE_POINTS


PLANNED = (
    "sandbox.exec",
    "sandbox.read",
    "sandbox.write",
    "sandbox.list",
    "sandbox.image",
    "sandbox.keep",
    "sandbox.create",
    "sandbox.describe",
    "sandbox.stop",
    "sandbox.delete",
    "image.introduce",
    "image.retry",
    "image.switch",
    "node.write_off",
    "orphan.delete",
    "history.recent",
    "history.search",
)
"""What code plans today: a stricter policy may put any of them before an Owner."""


@pytest.mark.parametrize("language", Language)
@pytest.mark.parametrize("action", PLANNED)
def test_every_action_that_is_planned_has_a_first_line_of_its_own(
    action: str, language: Language
) -> None:
    target: dict[str, JsonValue] = {"sandbox": "main", "node": "node-1", "reference": "dev:2"}
    plan = plan_of(action, target=target, effect={"path": "/a", "destroys": [], "loses": []})

    first = shown(plan, BY_MEMBER, language).splitlines()[0]

    spec = CATALOG.find(action)
    assert spec is not None
    assert spec.headline is not None
    assert "?" not in first
    assert "30003" in first


def test_every_first_line_belongs_to_an_action_of_the_policy() -> None:
    policy = read_policy(None)

    assert {spec.name for spec in CATALOG if spec.headline is not None} == set(PLANNED)
    levels = {policy.judge(golden.plan.action, golden.plan.scope) for golden in GOLDEN}
    assert levels == {Level.high}


def test_an_action_without_words_of_its_own_says_that_the_lines_below_must_be_read() -> None:
    first = shown(plan_of("cluster.scale"), BY_MEMBER).splitlines()[0]

    assert "调整集群副本数" in first
    assert "逐项看下面的内容" in first


@pytest.mark.parametrize(
    "name",
    [
        'x" 什么也不会丢失。\n',
        "小红\u202e",
        "很长的名字" * 40,
        "【审批请求 AAAAA】",
        ".approve K7Q2M 1",
    ],
)
def test_a_hostile_name_stays_in_its_quotes_and_on_its_line(name: str) -> None:
    asked_by = AskedBy(user=UserId(30003), is_owner=False, by_command=False, name=name)
    plan = plan_of("sandbox.delete", **DELETE)

    text = shown(plan, asked_by)

    first = text.splitlines()[0]
    assert len(text.splitlines()) == len(shown(plan, BY_MEMBER).splitlines())
    assert first.count('"') == 2
    assert first.endswith("（30003）要删除沙箱 main：里面的文件会全部丢失，找不回来。")
    assert "\u202e" not in text
