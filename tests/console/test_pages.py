"""What a viewer reads on each page of a service with two weeks behind it."""

import re

import pytest

from perlica.stores.database import Database
from tests.console.people import Person, text_of
from tests.console.seeded_sandboxes import block_image_switch
from tests.console.seeder import CODE, IMAGE
from tests.console.seeding import Seeded

CHINESE = {
    "/": "总览",
    "/active": "任务 T-",
    "/tasks": "任务",
    "/tickets": "审批",
    "/sandboxes": "沙箱",
    "/image": "镜像",
    "/outbox": "发件箱",
    "/recovery": "恢复队列",
    "/audit": "审计",
    "/usage": "用量",
}
_HEADING = re.compile(r"<h1>(.*?)</h1>")
_HAN = re.compile(r"[\u4e00-\u9fff]")


@pytest.mark.parametrize(("page", "heading"), CHINESE.items())
def test_pages_speak_chinese_first(looking: Person, page: str, heading: str) -> None:
    answer = looking.get(page)

    found = _HEADING.search(answer.text)
    assert found is not None
    assert found[1].startswith(heading)
    assert '<html lang="zh-CN"' in answer.text


def test_english_is_a_switch_away_and_stays(looking: Person, seeded: Seeded) -> None:
    switched = looking.get("/tasks?state=failed&lang=en")
    assert (switched.status_code, switched.headers["Location"]) == (303, "/tasks?state=failed")

    frames = [looking.read(page) for page in (*CHINESE, f"/tickets/{seeded.spent}")]
    looking.get("/?lang=zh")

    for text in frames:
        assert "Overview" in text
        assert "总览" not in text
    assert not _HAN.search(frames[4].split("Sandboxes")[0])


@pytest.mark.parametrize("theme", ["dark", "light", "auto"])
def test_a_theme_is_kept(looking: Person, theme: str) -> None:
    looking.get(f"/?theme={theme}")

    assert f'data-theme="{theme}"' in looking.get("/").text


def test_the_overview_shows_the_active_task_and_what_waits(looking: Person, seeded: Seeded) -> None:
    text = looking.read("/")

    assert seeded.active in text
    assert f"正在等待审批 {seeded.ticket}（删除沙箱）" in text
    for fact in ("结果不明的操作", "结果不明的发送", "3 / 3", "节点 node-2", "失联", "还没有备份"):
        assert fact in text, fact


def test_a_task_is_told_from_its_request_to_its_answer(looking: Person, seeded: Seeded) -> None:
    text = looking.read(f"/tasks/{seeded.finished}")

    told = (
        "跑测试，修好失败的用例",
        "12 条消息，1834 个字符；按时间截断，略去 3 条",
        "先跑一遍测试",
        "需要先看到失败的输出",
        '["make", "test"]',
        "失败（退出码 2）",
        "FAILED tests/test_app.py::test_port",
        "已替换 1 处凭据",
        "看完整结果",
        f"审批 {seeded.spent}",
        "高风险",
        "【实际执行】",
        "已完成",
    )
    places = [text.find(part) for part in told]
    assert -1 not in places, [part for part in told if part not in text]
    assert text.index("先跑一遍测试") < text.index("FAILED") < text.index("【实际执行】")


def test_the_active_page_follows_the_task_that_is_alive(looking: Person, seeded: Seeded) -> None:
    text = looking.read("/active")

    assert f"任务 {seeded.active}" in text
    assert "等待 Owner 审批" in text
    assert "bench 需要 Owner 批准才能删除" in text


def test_a_call_shows_all_that_it_gave_page_by_page(looking: Person, seeded: Seeded) -> None:
    first = looking.read(f"/calls/{seeded.call}")
    second = looking.read(f"/calls/{seeded.call}?page=1")

    assert "token=⟦凭据:github_token:1⟧" in first
    assert "line of output" in second
    assert "FAILED" not in second
    assert "上一页" in second


@pytest.mark.evidence(12)
def test_an_operation_shows_plan_identity_and_outcome(looking: Person, seeded: Seeded) -> None:
    text = looking.read(f"/operations/{seeded.operation}")

    for fact in (
        "参数 · 命令",
        "sandboxd",
        "退出码 2",
        "9f9f9f9f",
        seeded.finished,
        seeded.call,
    ):
        assert fact in text, fact


def test_a_ticket_shows_its_binding_and_never_its_code(looking: Person, seeded: Seeded) -> None:
    pages = [
        looking.get(path).text
        for path in (
            f"/tickets/{seeded.ticket}",
            f"/tickets/{seeded.spent}",
            "/tickets",
            "/outbox",
            f"/tasks/{seeded.active}",
            f"/tasks/{seeded.finished}",
            "/recovery",
            "/audit",
        )
    ]

    assert "(30001), " in pages[0]
    assert "(30002)" in pages[0]
    assert "还剩" in pages[0]
    assert "已用于执行" in pages[1]
    assert not any(CODE in page or "code_digest" in page for page in pages)


def test_sandboxes_show_node_image_and_countdown(looking: Person, seeded: Seeded) -> None:
    text = looking.read("/sandboxes")
    one = looking.read(f"/sandboxes/{seeded.sandbox}")

    facts = (
        "docs 可用",
        "自动删除: 还剩 20 小时",
        "有结果不明的操作",
        "清理没有得到确认",
        "清理未确认",
        "node-2 失联",
        "scratch",
    )
    assert [fact for fact in facts if fact not in text] == []
    assert "执行命令 低风险 失败（退出码 2） make test" in one
    assert "结果不明 /etc/motd" in one


def test_the_image_page_says_what_is_in_force_and_how_a_switch_stands(
    looking: Person, seeded: Seeded
) -> None:
    before = looking.read("/image")
    with Database.open(seeded.path) as db:
        block_image_switch(db, seeded.sandbox)
    after = looking.read("/image?now=1")

    assert IMAGE.digest in before
    assert "稳定" in before
    assert "切换受阻，等待 Owner" in after
    assert "node-2 unreachable" in after
    assert "registry.internal/perlica/next" in after


def test_the_recovery_queue_lists_what_settles_by_nobody(looking: Person, seeded: Seeded) -> None:
    text = looking.read("/recovery")

    for fact in (seeded.unknown, "节点一直没有应答", "timeout", "bench", "已隔离 1 条消息", "555"):
        assert fact in text, fact


@pytest.mark.parametrize(
    ("page", "present", "absent"),
    [
        ("/tasks?state=failed", "未完成", "已取消 有成员取消了它"),
        ("/tasks?state=cancelled", "有成员取消了它", "已完成 已回答"),
        ("/tickets?state=living", "等待决定", "已用于执行 删除沙箱"),
        ("/outbox?state=failed", "retcode 1200", "结果不明 通知"),
        ("/outbox?state=unknown", "timeout", "retcode 1200"),
        ("/audit?kind=intake.gap", "missed", "task.ended wall_time"),
        ("/audit?level=high", "ticket.asked", "intake.gap missed"),
        ("/audit?actor=napcat", "intake.gap", "ticket.asked 高风险"),
        ("/audit?text=WALL_time", "wall_time", "cancelled_by_member"),
        ("/audit?text=%25", "没有符合条件的记录", "wall_time"),
    ],
)
def test_a_filter_shows_what_it_says(looking: Person, page: str, present: str, absent: str) -> None:
    text = looking.read(page)

    assert present in text
    assert absent not in text


def test_the_audit_of_one_thing_is_found_by_its_id(looking: Person, seeded: Seeded) -> None:
    for about in (seeded.finished, seeded.spent, seeded.operation):
        answer = looking.get(f"/audit?about={about}")

        rows = re.findall(r'<tr role="row">\s*<th role="rowheader".*?</tr>', answer.text, re.DOTALL)
        assert rows
        assert all(about in row for row in rows)


def test_audit_can_be_bounded_by_time(looking: Person) -> None:
    early = looking.read("/audit?until=2000-01-01T00:00")
    late = looking.read("/audit?since=2000-01-01T00:00")

    assert "没有符合条件的记录" in early
    assert "task.ended" in late


def test_usage_draws_what_was_used_and_says_it_as_a_table(looking: Person) -> None:
    answer = looking.get("/usage?days=30")
    text = text_of(answer)

    assert answer.text.count("<svg ") == 4
    assert answer.text.count('class="bar ') > 40
    assert "合计 40" in text
    assert "password" in text
    assert "github_token" in text
    assert answer.text.count('<table class="figures">') == 4


def test_any_id_leads_to_its_page(looking: Person, seeded: Seeded) -> None:
    ways = {
        seeded.finished: f"/tasks/{seeded.finished}",
        seeded.finished.removeprefix("T-").lower(): f"/tasks/{seeded.finished}",
        seeded.spent.lower(): f"/tickets/{seeded.spent}",
        f" {seeded.operation} ": f"/operations/{seeded.operation}",
        seeded.call: f"/calls/{seeded.call}",
        "dev": f"/sandboxes/{seeded.sandbox}",
    }

    for given, path in ways.items():
        answer = looking.ask("GET", "/find", params={"id": given})
        assert (answer.status_code, answer.headers.get("Location")) == (303, path), given
    assert "没有编号或名称是“nothing”" in looking.read("/find?id=nothing")


@pytest.mark.parametrize(
    "page",
    ["/tasks/T-NOBODY", "/tickets/AAAAA", "/operations/op-0", "/calls/c_0", "/sandboxes/9999"],
)
def test_what_is_not_there_says_so(looking: Person, page: str) -> None:
    answer = looking.get(page)

    assert answer.status_code == 404
    assert "可能已过保留期" in text_of(answer)


def test_an_idle_service_shows_its_last_task(viewer: Person) -> None:
    assert "没有正在进行的任务" in viewer.read("/active")
    assert "空闲" in viewer.read("/")
    for page in CHINESE:
        assert viewer.get(page).status_code == 200
