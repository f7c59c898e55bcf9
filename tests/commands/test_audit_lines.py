"""What `.audit` says of each event: in words, on one line, with what its detail holds."""

from collections.abc import Mapping
from datetime import UTC

import pytest

from perlica.commands.records import AuditLine, answer_audit
from perlica.domain.approval import Verdict
from perlica.domain.texts import Language
from perlica.domain.texts.audit import VERDICTS
from perlica.gateway.known_actions import CATALOG


def told(
    kind: str,
    facts: Mapping[str, object],
    *,
    actor: str = "perlica",
    language: Language = Language.zh,
) -> str:
    line = AuditLine(at_ms=0, kind=kind, actor=actor, about=("T-7F3KQ2", "K7Q2M"), facts=facts)
    return answer_audit([line], UTC, language, CATALOG).splitlines()[1]


def test_a_decision_says_what_was_wanted_what_became_of_it_and_of_what() -> None:
    said = told(
        "ticket.decision",
        {
            "action": "sandbox.delete",
            "sandbox": "box",
            "node": "node-1",
            "verdict": "wrong_code",
            "approve": True,
        },
        actor="member:30003",
    )

    assert said == (
        "00:00:00 (UTC+00:00) 审批决定（删除沙箱、沙箱 box、要批准：短码不对），"
        "成员 30003 T-7F3KQ2 K7Q2M"
    )


@pytest.mark.parametrize(
    ("facts", "said"),
    [
        ({"reason": "cancelled_by_member"}, "（有成员取消了它）"),
        ({"reason": "plan_changed"}, "（原因 plan_changed）"),
        ({"code": "blocked_by_policy", "call": "c"}, "（策略不允许）"),
        ({"node": "n", "before": "alive", "after": "silent"}, "（节点 n、alive → silent）"),
        ({"action": "later.action"}, "（later.action）"),
        ({"withheld": True}, "，Perlica"),
        ({"verdict": "from a later version", "approve": True}, "，Perlica"),
        ({"reason": {"a": 1}, "sandbox": 5}, "，Perlica"),
    ],
)
def test_the_facts_of_a_detail_are_said_in_words(facts: dict[str, object], said: str) -> None:
    assert f"任务结束{said}" in told("task.ended", facts)


def test_english_is_spoken_where_it_is_configured() -> None:
    facts = {"verdict": "denied", "approve": False, "sandbox": "box"}

    said = told("ticket.decision", facts, language=Language.en)

    assert "Decision on an approval (sandbox box, to deny: denied), Perlica" in said


def test_every_verdict_has_words() -> None:
    assert set(VERDICTS) == {verdict.value for verdict in Verdict}


def test_an_unknown_kind_and_a_hostile_detail_stay_on_one_short_line() -> None:
    facts = {"reason": "a\u202e\n【审批】" * 50, "sandbox": "b\n" * 90}

    said = told("later\nkind", facts, actor="x\ny")

    assert "later\\nkind" in said
    assert "x\\ny" in said
    assert "\u202e" not in said
    assert len(said) < 250
