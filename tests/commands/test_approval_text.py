"""What an Owner reads before he approves."""

import re
from dataclasses import replace
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from perlica.domain.actions import SCOPES
from perlica.domain.errors import Refused
from perlica.domain.ids import TicketId, UserId
from perlica.domain.plan import ActionPlan, JsonValue, Origin, canonical_json, hash_plan
from perlica.domain.texts import Language
from perlica.gateway.core.approval_headline import AskedBy
from perlica.gateway.core.approval_text import (
    KINDS,
    MAX_CODE_POINTS,
    approval_text,
    summarise_target,
)
from perlica.gateway.known_actions import CATALOG
from perlica.protection import Channel, protect

EXPIRES_AT_MS = 1_796_028_366_000
PLAN = ActionPlan(
    action="sandbox.delete",
    origin=Origin(kind="task", id="T-7F3KQ2"),
    identity="sandboxd",
    target={"sandbox": "dev", "instance": "0123456789abcdef0123456789abcdef"},
    scope="sandbox",
    effect={"files": "destroyed"},
    destination="node:node-1",
    expected="delete",
    policy_version="1",
    display={"purpose": "never shown"},
)


def shown(plan: ActionPlan, language: Language = Language.zh) -> str:
    return approval_text(
        plan,
        asked_by=AskedBy(user=UserId(30003), is_owner=False, by_command=False, name="小明"),
        ticket=TicketId("K7Q2M"),
        code="123456",
        expires_at_ms=EXPIRES_AT_MS,
        language=language,
        actions=CATALOG,
    )


@pytest.mark.evidence(9)
@pytest.mark.parametrize("language", Language)
def test_every_field_that_the_hash_covers_is_shown(language: Language) -> None:
    text = shown(PLAN, language)

    files, node = (
        ("将被销毁", "节点 node-1") if language is Language.zh else ("destroyed", "node-1")
    )
    for value in ("sandbox.delete", "dev", "0123456789abcdef0123456789abcdef", files):
        assert value in text
    for value in (node, "sandboxd", "T-7F3KQ2", hash_plan(PLAN)[:12], "(UTC+08:00)"):
        assert value in text
    assert ".approve K7Q2M 123456" in text
    assert ".deny K7Q2M" in text
    assert "never shown" not in text


def test_the_sandbox_and_what_becomes_of_it_are_read_first() -> None:
    target: dict[str, JsonValue] = {
        "image_digest": "sha256:0123",
        "instance": "0123",
        "node": "node-1",
        "sandbox": "dev",
    }

    assert shown(replace(PLAN, target=target)).splitlines()[1:12] == [
        "动作：删除沙箱（sandbox.delete）",
        "沙箱：dev",
        "节点：node-1",
        "文件：将被销毁",
        "镜像摘要：sha256:0123",
        "沙箱实例：0123",
        "影响范围：一个沙箱",
        "出站目的地：节点 node-1",
        "预期结果：删除",
        "执行身份：sandboxd",
        "发起：任务 T-7F3KQ2",
    ]


@pytest.mark.parametrize(
    ("plan", "line"),
    [
        (replace(PLAN, effect={"files": "将被销毁"}), '文件："将被销毁"'),
        (replace(PLAN, effect={"files": ["destroyed"]}), '文件：["destroyed"]'),
        (replace(PLAN, effect={"files.x": "destroyed"}), '参数（"files.x"）：destroyed'),
        (replace(PLAN, effect={"files": {"x": "destroyed"}}), "参数（files.x）：destroyed"),
        (replace(PLAN, effect={"文件": "kept"}), '参数（"文件"）：kept'),
        (replace(PLAN, expected="删除"), '预期结果："删除"'),
        (replace(PLAN, expected='"删除"'), '预期结果："\\"删除\\""'),
        (replace(PLAN, scope="无"), '影响范围："无"'),
        (replace(PLAN, scope=""), "影响范围：无"),
        (replace(PLAN, destination="节点 node-1"), '出站目的地："节点 node-1"'),
        (replace(PLAN, destination="nodes:a,b"), "出站目的地：各节点 a,b"),
        (replace(PLAN, destination="example.com:443"), "出站目的地：example.com:443"),
        (replace(PLAN, destination="node:"), "出站目的地：node:"),
        (replace(PLAN, destination=""), "出站目的地：无"),
        (replace(PLAN, target={"owner": "x"}), "目标（owner）：x"),
    ],
)
def test_what_only_reads_like_our_words_is_told_apart(plan: ActionPlan, line: str) -> None:
    assert line in shown(plan).splitlines()


@pytest.mark.parametrize("language", Language)
def test_no_two_fields_and_no_two_words_of_an_approval_read_the_same(language: Language) -> None:
    parts = [CATALOG.field_labels(part) for part in ("target", "effect")]
    labels = [label.say(language) for part in parts for label in part.values()]

    assert len(set(labels)) == len(labels)
    filled_in = [CATALOG.words_of(key) for key in ("files", "verdict", "network")]
    for words in (*filled_in, SCOPES, CATALOG.expected, KINDS):
        shown_words = [text.say(language, name="x") for text in words.values()]
        assert len(set(shown_words)) == len(shown_words)


@pytest.mark.parametrize("language", Language)
def test_protection_lets_an_ordinary_approval_pass_unchanged(language: Language) -> None:
    text = shown(PLAN, language)

    assert protect(text, Channel.OUTBOX).content == text


@pytest.mark.parametrize(
    ("hostile", "visible"),
    [
        ("dev\u202e", "dev\\u{202e}"),
        ("d\u200bev", "d\\u{200b}ev"),
        ("dev\U000e0100", "dev\\u{e0100}"),
        ("dev\u3164", "dev\\u{3164}"),
        ("d\u0435v", "d\\u{435}v"),
        ("dev\n有效期：永久", "dev\\n有效期：永久"),
        ("dev\t\r\x1b[2J", "dev\\t\\r\\u{1b}[2J"),
        ("a" + " " * 5000 + "b", "a⟨␠x5000⟩b"),
        ("a⟨␠x2⟩b", "a\\u{27e8}\\u{2420}x2\\u{27e9}b"),
        (" dev", "⟨␠x1⟩dev"),
        ("a\\nb", "a\\\\nb"),
        ("true", '"true"'),
        ("5", '"5"'),
        ("", '""'),
        ('["a"]', '"[\\"a\\"]"'),
    ],
)
def test_what_could_hide_or_imitate_is_written_out(hostile: str, visible: str) -> None:
    text = shown(replace(PLAN, effect={"name": hostile}))

    assert f"参数（name）：{visible}\n" in text
    assert len(text.splitlines()) == len(shown(PLAN).splitlines())


@pytest.mark.parametrize(
    "field", ["scope", "destination", "expected", "identity", "policy_version"]
)
def test_no_field_can_start_a_line_of_its_own(field: str) -> None:
    changes: dict[str, Any] = {field: "x\n同意请单独发：\n.approve AAAAA 000000"}
    text = shown(replace(PLAN, **changes))

    assert re.findall(r"^(?:同意请.*|\.approve.*)", text, re.MULTILINE) == [
        "同意请单独发：",
        ".approve K7Q2M 123456",
    ]


def test_a_plan_that_cannot_be_shown_whole_is_refused() -> None:
    with pytest.raises(Refused) as refused:
        shown(replace(PLAN, effect={"body": "x" * 30_000}))

    assert refused.value.code == "plan_too_long"


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ({"n": 5}, {"n": "5"}),
        ({"n": None}, {"n": "null"}),
        ({"n": ["a", "b"]}, {"n": ["a, b"]}),
        ({"n": ["a"]}, {"n": '["a"]'}),
        ({"a.b": "x"}, {"a": {"b": "x"}}),
        ({"n": {}}, {"n": "{}"}),
        ({"n": 'a"b'}, {"n": 'a\\"b'}),
    ],
)
def test_different_parameters_never_look_the_same(
    one: dict[str, JsonValue], other: dict[str, JsonValue]
) -> None:
    assert shown(replace(PLAN, effect=one)) != shown(replace(PLAN, effect=other))


_TEXTS = st.text(st.characters(codec="utf-8"), max_size=12)
_JSON = st.recursive(
    st.none() | st.booleans() | st.integers(-99, 99) | _TEXTS,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(_TEXTS, inner, max_size=3),
    max_leaves=5,
)


@pytest.mark.evidence(9)
@given(st.dictionaries(_TEXTS, _JSON, max_size=3), st.dictionaries(_TEXTS, _JSON, max_size=3))
def test_the_text_tells_apart_whatever_the_hash_tells_apart(
    one: dict[str, JsonValue], other: dict[str, JsonValue]
) -> None:
    try:
        texts = {_fields_shown(replace(PLAN, effect=effect)) for effect in (one, other)}
    except Refused:
        return  # too long to be shown, so that nobody is asked

    assert len(texts) == len({canonical_json(one), canonical_json(other)})


def _fields_shown(plan: ActionPlan) -> str:
    """The approval without its hash line, which of course differs."""
    return re.sub(r"^计划短哈希.*$", "", shown(plan), flags=re.MULTILINE)


@given(st.text(st.characters(codec="utf-8"), max_size=300))
def test_an_approval_has_only_visible_characters(value: str) -> None:
    try:
        text = shown(replace(PLAN, effect={"value": value}))
    except Refused:
        return

    assert len(text) <= MAX_CODE_POINTS
    assert len(text.splitlines()) == len(shown(PLAN).splitlines())
    text.encode("utf-8")


def test_the_summary_of_a_target_begins_with_its_sandbox() -> None:
    target: dict[str, JsonValue] = {"image_digest": "sha256:" + "0" * 64, "sandbox": "dev"}

    summary = summarise_target(replace(PLAN, target=target))

    assert summary.startswith("sandbox.delete sandbox=dev, image_digest=sha256:")


def test_the_summary_of_a_target_is_one_short_line() -> None:
    summary = summarise_target(replace(PLAN, target={"name": "a\nb" * 500}))

    assert summary.startswith("sandbox.delete name=")
    assert len(summary) <= 120
    assert "\n" not in summary
