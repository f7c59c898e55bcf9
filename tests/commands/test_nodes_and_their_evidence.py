"""`.node`: what is thought of each node, and what that rests on."""

from perlica.commands.sandbox_answers import answer_nodes
from perlica.domain.node import NodeState
from perlica.domain.texts import Language
from perlica.stores.nodes import NodeRow, Observation

NOW_MS = 10_000_000


def node(state: NodeState, **evidence: int | str) -> NodeRow:
    return NodeRow(
        name="node-1",
        state=state,
        since_ms=NOW_MS - 960_000,
        identity={},
        evidence=evidence,
        images=(),
        seen_at_ms=NOW_MS - 970_000,
    )


def look(finding: str, **detail: str) -> dict[str, Observation]:
    return {
        "node-1": Observation(
            node="node-1",
            finding=finding,
            detail=detail,
            looks=31,
            first_at_ms=0,
            last_at_ms=NOW_MS - 30_000,
        )
    }


def test_a_silent_node_is_shown_with_its_looks_and_its_evidence() -> None:
    silent = node(NodeState.unreachable, down_looks=31, down_s=930, silent_s=915, control_looks=30)

    said = answer_nodes(
        [silent], [], look("sandboxd_unreachable"), now_ms=NOW_MS, language=Language.zh
    )

    assert "最近观察：" in said
    assert "连续 31 次" in said
    assert "依据：无应答 31 次" in said
    assert "可信静默 915 秒" in said
    assert "对照应答 30 次" in said


def test_a_node_that_answers_needs_no_evidence() -> None:
    said = answer_nodes(
        [node(NodeState.alive)], [], look("answered"), now_ms=NOW_MS, language=Language.en
    )

    assert "last looks: it answered, 31 time(s) in a row" in said
    assert "evidence:" not in said


def test_that_kubernetes_is_not_asked_is_said_until_it_is() -> None:
    alive = node(NodeState.alive)

    without = answer_nodes([alive], [], look("answered"), now_ms=NOW_MS, language=Language.zh)
    asked = answer_nodes(
        [alive], [], look("answered", cluster="True"), now_ms=NOW_MS, language=Language.zh
    )

    assert "没有接入 Kubernetes 查询" in without
    assert "Kubernetes" not in asked
