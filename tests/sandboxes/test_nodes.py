"""Nodes that fall silent, come back, lose their disk: what becomes of their sandboxes."""

import dataclasses
import json
from pathlib import Path

import pytest

from perlica.domain.clock import monotonic_s
from perlica.domain.errors import OutcomeUnknown, Retryable
from perlica.domain.ids import OperationId, SandboxName, new_operation_id
from perlica.domain.node import LossRule
from perlica.domain.sandbox import (
    BackendSandbox,
    NodeSurvey,
    OperationFate,
    OperationLookUp,
    SandboxLimits,
    SandboxSpec,
)
from perlica.domain.texts import Language
from perlica.sandboxes.node_watch import Look, NodeWatcher
from perlica.stores.database import Database
from perlica.stores.migrations import migrate
from perlica.stores.orphans import OrphanStore
from tests.sandboxes.conftest import MakeStage
from tests.sandboxes.stage import NEW, OLD, Stage, TroubledBackend, exec_, manage

SILENT = Retryable("sandboxd_unreachable", "the node daemon did not answer")
OTHER = "node-2"
NODE_STATES = "SELECT name || '=' || state FROM nodes ORDER BY name"


def _make_on_both(stage: Stage) -> None:
    here, there = stage.do(
        manage("create", "here", node="test-node"), manage("create", "there", node=OTHER)
    )
    assert "node test-node" in here
    assert f"node {OTHER}" in there


def _silence(stage: Stage) -> TroubledBackend:
    other = stage.others[OTHER]
    other.fall_silent(SILENT)
    stage.wait_for_reply(lambda m: f"节点 {OTHER} 判定为失联" in m.text)
    return other


def test_a_sandbox_is_made_where_it_was_asked_for_or_where_there_is_most_room(
    make_stage: MakeStage,
) -> None:
    stage = make_stage(nodes=(OTHER,))

    first, second, wrong = stage.do(
        manage("create", "first"),
        manage("create", "second"),
        manage("create", "third", node="node-9"),
    )

    assert "node test-node" in first
    assert f"node {OTHER}" in second
    assert "there is no node 'node-9'; nodes: test-node, node-2" in wrong
    assert [box.name for box in stage.others[OTHER].reconcile()] == ["second"]


def test_a_single_failed_look_changes_nothing(make_stage: MakeStage) -> None:
    stage = make_stage(nodes=(OTHER,))
    _make_on_both(stage)
    other = stage.others[OTHER]
    failed = "SELECT 1 FROM node_observations WHERE finding = 'sandboxd_unreachable'"

    other.fall_silent(SILENT)
    stage.wait(lambda: stage.column(failed) != [])
    other.recover()
    stage.wait(lambda: f"{OTHER}=alive" in stage.column(NODE_STATES))

    assert stage.states() == {"here": "ready", "there": "ready"}
    assert not [m for m in stage.napcat.sent if "失联" in m.text]


def test_an_unreachable_node_keeps_its_slots_until_an_owner_writes_it_off(
    make_stage: MakeStage,
) -> None:
    stage = make_stage(nodes=(OTHER,))
    _make_on_both(stage)
    early = stage.order(f".node writeoff {OTHER}").text
    _silence(stage)

    assert "不能核销" in early
    assert stage.states() == {"here": "ready", "there": "ready"}
    assert "失联" in stage.order(".node").text

    question = stage.approve(f".node writeoff {OTHER}")
    stage.wait_for_reply(lambda m: "已核销" in m.text, after=question)

    for part in (OTHER, '"there"', "对节点的判断：失联"):
        assert part in question.text
    assert stage.states() == {"here": "ready", "there": "lost"}
    assert stage.column("SELECT slot FROM sandboxes WHERE name = 'there'") == [None]
    (detail,) = stage.column("SELECT detail FROM audit_events WHERE kind = 'sandbox.lost'")
    evidence = json.loads(str(detail))["evidence"]
    assert evidence["silent_looks"] >= 5
    assert evidence["control_looks"] >= 5
    assert evidence["by"] == "30001"
    (refused,) = stage.do(exec_("true", sandbox="there"))
    assert "there is no sandbox" in refused


def test_the_name_of_a_lost_sandbox_waits_until_its_node_came_back_and_was_cleaned(
    make_stage: MakeStage,
) -> None:
    stage = make_stage(nodes=(OTHER,))
    _make_on_both(stage)
    other = _silence(stage)
    question = stage.approve(f".node writeoff {OTHER}")
    stage.wait_for_reply(lambda m: "已核销" in m.text, after=question)

    (taken, there) = stage.do(manage("create", "there"), manage("create", "new", node=OTHER))
    other.recover()
    stage.wait_for_reply(lambda m: f"节点 {OTHER} 恢复正常" in m.text)
    stage.wait(lambda: stage.column("SELECT state FROM orphans") == ["cleared"])

    assert "正在使用" in taken or "exists" in taken
    assert "written_off" in there
    assert other.reconcile() == ()
    actions = stage.column("SELECT action FROM operations WHERE identity = 'lifecycle'")
    assert actions == ["sandbox.clean"]
    stage.make("there")


def test_a_dead_node_cannot_block_a_switch_for_ever(make_stage: MakeStage) -> None:
    stage = make_stage(nodes=(OTHER,))
    _make_on_both(stage)
    _silence(stage)

    question = stage.approve(f".image switch {NEW}")
    blocked = stage.wait_for_reply(lambda m: "更换镜像受阻" in m.text, after=question)
    written_off = stage.approve(f".node writeoff {OTHER}")
    stage.wait_for_reply(lambda m: "已核销" in m.text, after=written_off)
    stage.order(".image retry")
    stage.wait_for_reply(lambda m: "已更换为" in m.text, after=blocked)

    assert "there@node-2" in blocked.text
    assert stage.states() == {"here": "deleted", "there": "lost"}


def test_a_node_that_was_installed_anew_has_lost_what_it_held(make_stage: MakeStage) -> None:
    stage = make_stage(nodes=(OTHER,))
    _make_on_both(stage)
    other = stage.others[OTHER]
    other._held.clear()
    other.identity = "second"

    stage.wait_for_reply(lambda m: f"节点 {OTHER} 已不存在" in m.text)
    stage.wait(lambda: stage.column("SELECT state FROM orphans") == ["cleared"])

    assert stage.states() == {"here": "ready", "there": "lost"}
    stage.wait(lambda: f"{OTHER}=alive" in stage.column(NODE_STATES))
    stage.make("there")


def test_a_sandbox_that_is_not_on_its_answering_node_any_more_is_lost_with_the_evidence(
    stage: Stage,
) -> None:
    stage.make("main")
    stage.backend._held.clear()

    told = stage.wait_for_reply(lambda m: "已丢失" in m.text)

    assert "节点上已找不到它" in told.text
    assert stage.states() == {"main": "lost"}
    stage.make("main")


def test_one_look_that_lacks_a_sandbox_loses_nothing(stage: Stage) -> None:
    stage.make("main")
    backend = stage.backend
    whole = backend.survey
    answers: list[NodeSurvey] = []

    def lacking_once() -> NodeSurvey:
        survey = whole()
        if not answers:
            survey = NodeSurvey(
                node=survey.node, identity=survey.identity, images=survey.images, sandboxes=()
            )
        answers.append(survey)
        return survey

    backend.survey = lacking_once  # type: ignore[method-assign]
    stage.wait(lambda: len(answers) > 5)
    for _ in range(3):
        stage.tick()

    assert stage.states() == {"main": "ready"}


def test_a_sandbox_that_ended_and_is_there_again_is_cleaned_up(stage: Stage) -> None:
    stage.make("main")
    kept = dict(stage.backend._held)
    question = stage.approve(".sbx delete main")
    stage.wait_for_reply(lambda m: "删除沙箱完成" in m.text, after=question)

    stage.backend._held.update(kept)
    stage.wait(lambda: stage.column("SELECT state FROM orphans") == ["cleared"])

    assert stage.backend.reconcile() == ()
    assert stage.column("SELECT cause FROM orphans") == ["returned"]


def test_another_image_on_the_node_than_in_the_books_is_reported_and_nothing_else(
    stage: Stage,
) -> None:
    stage.make("main")
    ((name, held),) = stage.backend._held.items()
    held.sandbox = dataclasses.replace(held.sandbox, image_digest=NEW)

    told = stage.wait_for_reply(lambda m: "和记录不一致" in m.text)
    for _ in range(3):
        stage.tick()

    assert name in told.text
    assert stage.states() == {"main": "ready"}
    assert len([m for m in stage.napcat.sent if "和记录不一致" in m.text]) == 1


@pytest.mark.parametrize("made", [True, False])
def test_a_creation_whose_answer_was_lost_is_settled_by_asking_for_its_operation(
    stage: Stage, *, made: bool
) -> None:
    backend = stage.backend
    create = backend.create

    def lose_the_answer(
        operation: OperationId, spec: SandboxSpec, image_digest: str
    ) -> BackendSandbox:
        if made:
            create(operation, spec, image_digest)
        raise OutcomeUnknown("sandboxd_gone", "the way was lost")

    backend.create = lose_the_answer  # type: ignore[method-assign]
    (result,) = stage.do(manage("create", "main"))

    assert stage.states()["main"] == ("ready" if made else "deleted")
    assert ("is ready" if made else "nothing happened") in result


@pytest.mark.parametrize("made", [True, False])
def test_a_creation_that_was_interrupted_is_looked_for_and_cleaned_up(
    stage: Stage, *, made: bool
) -> None:
    backend = stage.backend
    create = backend.create
    interrupted = OperationLookUp(fate=OperationFate.interrupted, reason="the daemon died")

    def die(operation: OperationId, spec: SandboxSpec, image_digest: str) -> BackendSandbox:
        if made:
            create(operation, spec, image_digest)
        backend.create = create  # type: ignore[method-assign]
        raise OutcomeUnknown("sandboxd_gone", "the way was lost")

    backend.create = die  # type: ignore[method-assign]
    backend.look_up = lambda operation: interrupted  # type: ignore[method-assign]
    (result,) = stage.do(manage("create", "main"))

    stage.wait(lambda: stage.column("SELECT state FROM orphans") == ["cleared"])
    assert "unknown" in result
    assert stage.states() == {"main": "deleted"}
    assert backend.reconcile() == ()
    unknown = "SELECT state FROM operations WHERE action = 'sandbox.create'"
    assert stage.column(unknown) == ["failed"]
    stage.make("main")


def test_a_look_that_is_older_than_a_clean_up_brings_no_remnant_back(tmp_path: Path) -> None:
    backend = TroubledBackend()
    limits = SandboxLimits(
        memory_bytes=2**28, pids=64, cpu_millis=1000, disk_bytes=352321536, nofile=256
    )
    spec = SandboxSpec(name=SandboxName("foreign"), purpose="", node="test-node", limits=limits)
    backend.create(new_operation_id(), spec, OLD)
    migrate(tmp_path / "nodes.db")
    with Database.open(tmp_path / "nodes.db") as database:
        watcher = NodeWatcher(database=database, rule=LossRule(), language=Language.zh)

        def look() -> Look:
            return Look(node="test-node", at_s=monotonic_s(), survey=backend.survey())

        for _ in range(3):
            watcher.take(look())
        orphans = OrphanStore(database)
        (orphan,) = orphans.list_open()
        old = look()
        with database.transaction():
            orphans.clear(orphan.sandbox_id)
        watcher.take(old)
        after_the_old_one = orphans.list_open()
        for _ in range(2):
            watcher.take(look())

        assert after_the_old_one == ()
        assert [o.cause for o in orphans.list_open()] == ["returned"]
