"""One image for all sandboxes: introduced anew, switched by approval, blocked, retried."""

import json
import threading

import pytest

from perlica.domain.errors import Refused, Retryable
from perlica.domain.sandbox import SandboxImage
from perlica.stores.database import Database
from perlica.stores.sandboxes import SandboxStore
from tests.behaviour.live import MEMBER, OTHER_OWNER, OWNER
from tests.sandboxes.conftest import MakeStage
from tests.sandboxes.stage import APPROVE, NEW, OLD, Stage, exec_, manage

SWITCH = f".image switch {NEW}"
IN_FORCE = "SELECT digest FROM sandbox_image_config"
STATES = "SELECT state FROM image_switches"


@pytest.mark.evidence(16)
def test_creation_shows_introduction_digest_and_revision_of_the_image(stage: Stage) -> None:
    made, image = stage.do(manage("create", "main"), manage("image"))

    for shown in (made, image):
        assert "introduction: an image for tests" in shown
        assert f"digest {OLD}" in shown
        assert "revision 1" in shown
    assert stage.column("SELECT DISTINCT image_digest FROM sandboxes") == [OLD]


def test_another_introduction_only_raises_the_revision(stage: Stage) -> None:
    stage.make("main")

    answer = stage.order(".image intro 里面有 gcc 和 python3")

    assert "修订 2" in answer.text
    assert stage.states() == {"main": "ready"}
    (image,) = stage.do(manage("image"))
    assert "introduction: 里面有 gcc 和 python3" in image
    assert f"digest {OLD}" in image
    assert "revision 2" in image
    assert "里面有 gcc" in stage.order(".image").text
    levels = stage.column("SELECT level FROM operations WHERE action = 'image.introduce'")
    assert levels == ["medium"]


@pytest.mark.evidence(17)
def test_a_switch_asks_for_exactly_what_it_destroys_and_ends_with_one_image(stage: Stage) -> None:
    stage.make("one", "two")

    question = stage.approve(f"{SWITCH} 新的镜像")
    stage.wait_for_reply(lambda m: "开始更换沙箱镜像" in m.text, after=question)
    done = stage.wait_for_reply(lambda m: "已更换为" in m.text, after=question)

    for part in (NEW, OLD, '"one"', '"two"', "更换沙箱镜像", "新的镜像"):
        assert part in question.text
    assert "修订 2" in done.text
    assert stage.column(IN_FORCE) == [NEW]
    assert set(stage.states().values()) == {"deleted"}
    assert stage.backend.reconcile() == ()
    stage.make("three")
    assert stage.column("SELECT image_digest FROM sandboxes WHERE slot IS NOT NULL") == [NEW]
    assert stage.column("SELECT image_revision FROM sandboxes WHERE slot IS NOT NULL") == [2]


@pytest.mark.evidence(17)
def test_nothing_is_created_and_nothing_activated_while_clean_up_fails(stage: Stage) -> None:
    stage.make("one", "two")
    stage.backend.troubles["delete"] = Retryable("node_busy", "nothing was done")

    question = stage.approve(SWITCH)
    blocked = stage.wait_for_reply(lambda m: "更换镜像受阻" in m.text, after=question)
    (refused,) = stage.do(manage("create", "three"))

    assert "node_busy" in blocked.text
    assert stage.column(STATES) == ["blocked"]
    assert stage.column(IN_FORCE) == [OLD]
    assert "正在更换沙箱镜像" in refused
    assert "受阻" in stage.order(".status").text
    assert "受阻" in stage.order(".image").text
    assert "正在更换" in stage.order(".image intro 新介绍").text

    stage.backend.recover()
    stage.order(".image retry")
    stage.wait_for_reply(lambda m: "已更换为" in m.text, after=blocked)
    assert stage.column(IN_FORCE) == [NEW]
    stage.make("three")


def test_a_set_that_changed_after_the_question_asks_again(stage: Stage) -> None:
    stage.make("one")
    said = stage.napcat.say(OWNER, SWITCH)
    first = stage.wait_for_reply(lambda m: bool(APPROVE.search(m.text)), after=said)
    stage.make("two")

    stage.decide(first)
    second = stage.wait_for_reply(
        lambda m: bool(APPROVE.search(m.text)) and '"two"' in m.text, after=first
    )

    assert stage.column(STATES) == []
    assert set(stage.states().values()) == {"ready"}
    stage.decide(second)
    stage.wait_for_reply(lambda m: "已更换为" in m.text, after=second)
    assert stage.column("SELECT state FROM approvals ORDER BY rowid") == ["void", "consumed"]


def test_a_denied_switch_changes_nothing(stage: Stage) -> None:
    stage.make("one")
    said = stage.napcat.say(OWNER, SWITCH)
    question = stage.wait_for_reply(lambda m: bool(APPROVE.search(m.text)), after=said)
    ticket = APPROVE.search(question.text)
    assert ticket is not None

    stage.order(f".deny {ticket.group(1)}", user=OTHER_OWNER)
    for _ in range(3):
        stage.tick()

    assert stage.column(STATES) == []
    assert stage.states() == {"one": "ready"}


def test_a_running_command_ends_before_its_sandbox_is_destroyed(stage: Stage) -> None:
    stage.make("one")
    results: list[str] = []
    task = threading.Thread(
        target=lambda: results.extend(stage.do(exec_("sleep", "1.5", sandbox="one")))
    )
    task.start()
    stage.wait(lambda: "execute" in stage.backend.met)

    question = stage.approve(SWITCH)
    stage.wait_for_reply(lambda m: "已更换为" in m.text, after=question)
    task.join(15)

    assert "exit code 0" in results[0]


def test_a_switch_that_a_restart_interrupted_goes_on(stage: Stage) -> None:
    stage.make("one")
    stage.backend.troubles["delete"] = Retryable("node_busy", "nothing was done")
    question = stage.approve(SWITCH)
    stage.wait_for_reply(lambda m: "更换镜像受阻" in m.text, after=question)
    stage.backend.recover()
    stage.order(".image retry")
    stage.live.stop()
    met = stage.napcat.connection_count

    stage.live.start()

    stage.wait(lambda: stage.napcat.connection_count > met)
    stage.wait(lambda: stage.column(IN_FORCE) == [NEW])
    assert stage.column(STATES) == ["activated"]


@pytest.mark.parametrize(
    ("line", "said"),
    [
        (f".image switch {OLD}", "已经是这个镜像"),
        (".image switch " + "f" * 64, "没有这个镜像"),
        (".image switch sha256:12", "至少 12 位"),
        (".image switch", "至少 12 位"),
        (".image retry", "没有受阻"),
        (".image rename x", "没有这个子命令"),
    ],
)
def test_a_switch_to_nothing_is_refused_with_the_reason(stage: Stage, line: str, said: str) -> None:
    assert said in stage.order(line).text


def test_a_node_that_lacks_the_image_holds_the_switch_back(make_stage: MakeStage) -> None:
    stage = make_stage(nodes=("node-2",))
    stage.others["node-2"].image_digests = (OLD,)
    stage.wait(
        lambda: (
            any(NEW not in str(i) for i in stage.column("SELECT images FROM nodes"))
            and len(stage.column("SELECT 1 FROM nodes WHERE seen_at_ms IS NOT NULL")) == 2
        )
    )

    assert "有节点还没有这个镜像" in stage.order(SWITCH).text


def test_members_who_are_no_owners_switch_nothing(stage: Stage) -> None:
    assert "只有 Owner 能用" in stage.order(SWITCH, user=MEMBER).text
    assert stage.column("SELECT 1 FROM approvals") == []


@pytest.mark.evidence(17)
def test_the_schema_itself_lets_no_two_images_stand_side_by_side(stage: Stage) -> None:
    stage.make("one")
    stage.live.stop()

    with Database.open(stage.live.path) as database:
        image = SandboxStore(database).image()
        assert image is not None
        other = SandboxImage(
            reference="x", digest=NEW, introduction="", revision=image.revision + 1
        )
        with pytest.raises(Refused, match="old_image_in_use"), database.transaction():
            SandboxStore(database).set_image(other)
        with pytest.raises(Refused, match="image_changed"), database.transaction():
            database.change(
                "INSERT INTO sandboxes (name, slot, state, purpose, protection_status,"
                " policy_version, finding_count, node, image_digest, image_revision, limits,"
                " network, created_at_ms, last_active_at_ms) VALUES ('raw', 3, 'creating', '',"
                " 'scanned_no_findings', '1', 0, 'n', :digest, 1, '{}', 'none', 1, 1)",
                {"digest": NEW},
            )
        with pytest.raises(Refused), database.transaction():
            database.change("UPDATE sandbox_image_config SET revision = revision")
        with pytest.raises(Refused), database.transaction():
            database.change("UPDATE sandboxes SET image_digest = 'sha256:x'")


def test_what_a_switch_did_stands_in_the_audit(stage: Stage) -> None:
    stage.make("one")
    question = stage.approve(SWITCH)
    stage.wait_for_reply(lambda m: "已更换为" in m.text, after=question)

    kinds = stage.column("SELECT kind FROM audit_events WHERE kind LIKE 'image.%' ORDER BY id")
    (detail,) = stage.column("SELECT detail FROM audit_events WHERE kind = 'image.switching'")
    assert kinds == ["image.switching", "image.activated"]
    facts = json.loads(str(detail))
    assert (facts["from"], facts["to"]) == (OLD, NEW)
    assert [entry["name"] for entry in facts["destroys"]] == ["one"]
    (identity,) = stage.column("SELECT identity FROM operations WHERE action='sandbox.replace'")
    assert identity == "lifecycle"
