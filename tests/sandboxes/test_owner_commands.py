"""`.sbx`, `.orphans` and `.node` as Owners type them on a phone."""

import re

import pytest

from perlica.commands import CommandName, Malformed, Mistake, Parsed, parse_line
from perlica.domain.ids import SandboxName, new_operation_id
from perlica.domain.sandbox import SandboxLimits, SandboxSpec
from tests.behaviour.live import MEMBER
from tests.sandboxes.stage import OLD, Stage, exec_, manage

_LIMITS = SandboxLimits(
    memory_bytes=2**28, pids=64, cpu_millis=1000, disk_bytes=352321536, nofile=256
)


@pytest.mark.parametrize(
    ("line", "name", "arguments"),
    [
        (".sbx", CommandName.sbx, {"action": "list"}),
        (".sbx LIST", CommandName.sbx, {"action": "list"}),
        (".sbx show dev", CommandName.sbx, {"action": "show", "name": "dev"}),
        (".sbx ops Dev", CommandName.sbx, {"action": "ops", "name": "dev"}),
        (
            ".sbx describe dev 构建 前端  用",
            CommandName.sbx,
            {"action": "describe", "name": "dev", "purpose": "构建 前端  用"},
        ),
        (".image", CommandName.image, {"action": "show"}),
        (
            ".image intro 有 gcc",
            CommandName.image,
            {"action": "intro", "introduction": "有 gcc"},
        ),
        (
            ".image switch SHA256:0123456789ab 新 的",
            CommandName.image,
            {"action": "switch", "digest": "sha256:0123456789ab", "introduction": "新 的"},
        ),
        (".orphans delete 12", CommandName.orphans, {"action": "delete", "number": "12"}),
        (
            ".node writeoff Node-2.lan",
            CommandName.node,
            {"action": "writeoff", "name": "node-2.lan"},
        ),
    ],
)
def test_a_whole_command_is_read(line: str, name: CommandName, arguments: dict[str, str]) -> None:
    assert parse_line(line) == Parsed(name=name, arguments=arguments)


@pytest.mark.parametrize(
    ("line", "mistake"),
    [
        (".sbx show", Mistake.needs_name),
        (".sbx show ../etc", Mistake.bad_name),
        (".sbx show a b", Mistake.bad_name),
        (".sbx show dev more", Mistake.too_many_words),
        (".sbx rename dev new", Mistake.unknown_word),
        (".sbx describe dev", Mistake.needs_text),
        (".image switch", Mistake.bad_digest),
        (".image switch latest", Mistake.bad_digest),
        (".image intro", Mistake.needs_text),
        (".image switch 0123456789a", Mistake.bad_digest),
        (".orphans delete all", Mistake.bad_number),
        (".orphans keep 1", Mistake.unknown_word),
        (".node writeoff", Mistake.needs_name),
        (".node writeoff a/b", Mistake.bad_name),
        (".node delete a", Mistake.unknown_word),
    ],
)
def test_what_is_wrong_is_said(line: str, mistake: Mistake) -> None:
    read = parse_line(line)

    assert isinstance(read, Malformed)
    assert read.mistake is mistake


def test_a_sandbox_is_listed_shown_and_its_operations_too(stage: Stage) -> None:
    stage.do(manage("create", "main", purpose="构建前端"), exec_("true"))

    listed = stage.order(".sbx").text
    shown = stage.order(".sbx show main").text
    done = stage.order(".sbx ops main").text

    assert "【沙箱 1/3】" in listed
    assert "构建前端" in listed
    assert re.search("上次使用：\\d+ 秒前", shown)
    for part in ("构建前端", "test-node", "修订：1", "256 MiB", "336 MiB", "64", "网络：无"):
        assert part in shown or part == "64"
    assert "创建：成功" in done
    assert "命令：成功" in done
    assert "没有沙箱 other" in stage.order(".sbx show other").text
    assert "没有沙箱 other" in stage.order(".sbx ops other").text


def test_a_stop_runs_without_approval_and_its_end_is_told(stage: Stage) -> None:
    stage.make("main")

    answer = stage.order(".sbx stop main")
    stage.wait_for_reply(lambda m: "停止沙箱完成" in m.text, after=answer)

    assert "正在停止" in answer.text
    assert stage.states() == {"main": "stopped"}
    assert stage.column("SELECT level FROM operations WHERE action='sandbox.stop'") == ["medium"]


def test_a_stopped_sandbox_that_is_used_is_called_stopped_no_longer(stage: Stage) -> None:
    stage.make("main")
    answer = stage.order(".sbx stop main")
    stage.wait_for_reply(lambda m: "停止沙箱完成" in m.text, after=answer)

    stage.do(exec_("true"))

    assert stage.states() == {"main": "ready"}


def test_a_description_changes_at_once_and_is_no_use(stage: Stage) -> None:
    stage.make("main")
    before = stage.column("SELECT last_active_at_ms FROM sandboxes")

    stage.order(".sbx describe main 给测试用")

    assert stage.column("SELECT purpose FROM sandboxes") == ["给测试用"]
    assert stage.column("SELECT last_active_at_ms FROM sandboxes") == before


def test_a_sandbox_cannot_be_renamed(stage: Stage) -> None:
    stage.make("main")

    assert "没有这个子命令" in stage.order(".sbx rename main other").text


def test_a_deletion_waits_for_an_approval_and_happens_once(stage: Stage) -> None:
    stage.make("main")

    question = stage.approve(".sbx delete main")
    stage.wait_for_reply(lambda m: "删除沙箱完成" in m.text, after=question)

    assert stage.states() == {"main": "deleted"}
    sql = "SELECT count(*) FROM operations WHERE action='sandbox.delete' AND ticket_id IS NOT NULL"
    assert stage.column(sql) == [1]


def test_a_sandbox_that_changed_since_the_question_is_not_deleted(stage: Stage) -> None:
    stage.make("main")
    from tests.sandboxes.stage import APPROVE

    said = stage.napcat.say(30001, ".sbx delete main")
    question = stage.wait_for_reply(lambda m: bool(APPROVE.search(m.text)), after=said)
    first = stage.approve(".sbx delete main")
    stage.wait_for_reply(lambda m: "删除沙箱完成" in m.text, after=first)
    stage.make("main")

    stage.decide(question)
    stage.wait_for_reply(lambda m: "已作废" in m.text or "情况变了" in m.text, after=question)

    assert stage.states() == {"main": "ready"}


def test_members_see_no_lists_and_stop_nothing(stage: Stage) -> None:
    stage.make("main")

    for line in (".sbx", ".sbx stop main", ".orphans", ".node", ".image intro x"):
        assert "只有 Owner 能用" in stage.order(line, user=MEMBER).text

    assert stage.states() == {"main": "ready"}


def test_a_command_told_twice_is_carried_out_once(stage: Stage) -> None:
    stage.make("main")
    from actors.messages import SandboxOrdered

    stage.order(".sbx stop main")
    (row,) = stage.column("SELECT message_row FROM commands WHERE name = 'sbx'")
    for _ in range(3):
        stage.live.wires.reconciler.tell(SandboxOrdered(message_row=row))  # type: ignore[union-attr,arg-type]
    stage.tick()

    assert stage.column("SELECT count(*) FROM operations WHERE action='sandbox.stop'") == [1]


def test_what_was_never_ours_is_reported_counted_and_deleted_only_by_approval(
    stage: Stage,
) -> None:
    spec = SandboxSpec(name=SandboxName("foreign"), purpose="", node="test-node", limits=_LIMITS)
    stage.backend.create(new_operation_id(), spec, OLD)
    alarm = stage.wait_for_reply(lambda m: "foreign" in m.text)

    listed = stage.order(".orphans").text
    (one, two, three, named) = stage.do(
        manage("create", "one"),
        manage("create", "two"),
        manage("create", "three"),
        manage("create", "foreign"),
    )

    assert "没有清理干净" in alarm.text
    assert "不是本服务建的" in listed
    assert "is ready" in one
    assert "is ready" in two
    assert "上限" in three
    assert "正在使用" in named or "上限" in named
    assert [box.name for box in stage.backend.reconcile() if box.name == "foreign"]

    (number,) = stage.column("SELECT id FROM orphans WHERE state = 'open'")
    question = stage.approve(f".orphans delete {number}")
    stage.wait_for_reply(lambda m: "即将删除" in m.text, after=question)
    stage.wait(lambda: stage.column("SELECT state FROM orphans") == ["cleared"])
    assert not [box.name for box in stage.backend.reconcile() if box.name == "foreign"]
    stage.make("three")
