"""The console in a real browser: login, refusal, every page, live updates, a phone, a keyboard."""

import os
from collections.abc import Iterator
from pathlib import Path

import pytest

from perlica.console import ConsoleServer, ConsoleSettings, start_console
from perlica.domain.task import TaskState
from perlica.gateway.known_actions import CATALOG
from perlica.stores.database import Database
from perlica.stores.viewers import ViewerStore
from tests.console.accessibility import find_axe, serious_findings
from tests.console.hostile import spoil
from tests.console.seeder import TOKEN, VIEWER, Seeder, make_database
from tests.console.seeding import Seeded
from tests.demo.browser import Browser, find_chromium

CHROMIUM = find_chromium()
TAB = ("Tab", 9)
PAGES = (
    "/",
    "/active",
    "/tasks",
    "/tickets",
    "/sandboxes",
    "/image",
    "/outbox",
    "/recovery",
    "/audit",
    "/usage",
)
COMPLETE = "document.readyState === 'complete'"
pytestmark = [
    pytest.mark.browser,
    pytest.mark.skipif(
        CHROMIUM is None and os.environ.get("CI") != "true",
        reason="no chromium on this machine",
    ),
]


@pytest.fixture(scope="module")
def browser(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Browser]:
    assert CHROMIUM, "no chromium on this machine"
    with Browser(CHROMIUM, tmp_path_factory.mktemp("chromium")) as running:
        running.show_as(1280, 860)
        yield running


@pytest.fixture
def fresh(browser: Browser) -> Iterator[Browser]:
    """The browser without cookies and complaints, at its usual size."""
    # What an earlier page still complains of, now that its server is gone, is not ours.
    browser.open("about:blank")
    browser.wait_for("location.href === 'about:blank'")
    browser.ask("Network.clearBrowserCookies")
    browser.requested.clear()
    browser.complaints.clear()
    browser.show_as(1280, 860)
    yield browser
    browser.open("about:blank")


@pytest.fixture(scope="module")
def weeks(seeded: Seeded) -> Iterator[ConsoleServer]:
    server = start_console(ConsoleSettings(actions=CATALOG, refresh_s=1.0), seeded.path)
    yield server
    server.stop()


@pytest.fixture
def quick(path: Path) -> Iterator[ConsoleServer]:
    """A console over an empty database that is looked at often."""
    server = start_console(ConsoleSettings(actions=CATALOG, refresh_s=0.2), path)
    yield server
    server.stop()


def press_enter(browser: Browser) -> None:
    """As a keyboard does it: the key with its character, which submits forms and follows links."""
    key = {"key": "Enter", "code": "Enter", "windowsVirtualKeyCode": 13}
    browser.ask("Input.dispatchKeyEvent", type="keyDown", text="\r", **key)
    browser.ask("Input.dispatchKeyEvent", type="keyUp", **key)


def show(browser: Browser, console: ConsoleServer, page: str) -> None:
    browser.open(console.url + page)
    browser.wait_for(f"location.href === {console.url + page!r} && {COMPLETE}")


def log_in(browser: Browser, console: ConsoleServer, page: str = "/") -> None:
    browser.open(console.url + page)
    browser.wait_for("document.querySelector('#token') !== null")
    browser.click("#token")
    browser.type(TOKEN)
    press_enter(browser)
    browser.wait_for(f"location.pathname === {page!r} && document.querySelector('#live') !== null")
    browser.wait_for("!document.querySelector('#live-bar').hidden")


def shows(browser: Browser, text: str, within: str = "#live") -> None:
    browser.wait_for(f"document.querySelector({within!r}).textContent.includes({text!r})")


def single_pages(seeded: Seeded) -> tuple[str, ...]:
    return (
        f"/tasks/{seeded.finished}",
        f"/tasks/{seeded.active}",
        f"/tickets/{seeded.spent}",
        f"/operations/{seeded.operation}",
        f"/calls/{seeded.call}",
        f"/sandboxes/{seeded.sandbox}",
        "/audit?kind=task.ended&text=wall",
    )


def test_a_person_logs_in_and_is_where_he_wanted_to_be(
    fresh: Browser, quick: ConsoleServer
) -> None:
    log_in(fresh, quick, "/tasks")

    shows(fresh, VIEWER, within=".who")
    assert fresh.evaluate("document.cookie") == ""
    assert "token" not in fresh.evaluate("location.href")
    fresh.click("form[action='/logout'] button")
    fresh.wait_for("location.pathname === '/login'")


def test_a_wrong_token_is_told_beside_its_field(fresh: Browser, quick: ConsoleServer) -> None:
    fresh.open(quick.url + "/")
    fresh.wait_for("document.querySelector('#token') !== null")
    fresh.click("#token")
    fresh.type("not a token")
    fresh.click("button.main")

    fresh.wait_for("document.querySelector('#wrong') !== null")
    assert "令牌不对" in fresh.evaluate("document.querySelector('#wrong').textContent")
    described = "document.querySelector('#token').getAttribute('aria-describedby')"
    assert fresh.evaluate(described) == "how wrong"


def test_every_page_is_whole_and_asks_nobody_outside(
    fresh: Browser, weeks: ConsoleServer, seeded: Seeded
) -> None:
    log_in(fresh, weeks)
    for page in (*PAGES, *single_pages(seeded)):
        show(fresh, weeks, page)
        assert fresh.evaluate("document.querySelectorAll('h1').length") == 1, page
        assert fresh.evaluate("document.styleSheets.length") == 1, page
        style = "getComputedStyle(document.querySelector('main')).gridArea"
        assert fresh.evaluate(style).startswith("main"), page

    # Chromium draws the icon of its own date field from a data: address.
    inside = (weeks.url, "about:blank", "data:")
    assert [url for url in fresh.requested if not url.startswith(inside)] == []
    assert fresh.complaints == []


@pytest.mark.timeout(180)
def test_hostile_rows_are_text_in_a_real_browser(
    fresh: Browser, tmp_path_factory: pytest.TempPathFactory
) -> None:
    path = make_database(tmp_path_factory.mktemp("hostile") / "perlica.db")
    pages = spoil(path)
    server = start_console(ConsoleSettings(actions=CATALOG), path)
    try:
        log_in(fresh, server)
        for page in (*PAGES, *(page for page in pages[:20] if "turns" not in page)):
            show(fresh, server, page)
            assert fresh.evaluate("document.title") != "hacked", page
            assert fresh.evaluate("document.querySelectorAll('script').length") == 1, page
            assert fresh.evaluate("document.querySelector('#live img, #live svg[onload]')") is None
        assert fresh.complaints == []
    finally:
        fresh.open("about:blank")
        server.stop()


def test_a_running_task_is_seen_as_it_goes_on(
    fresh: Browser, quick: ConsoleServer, path: Path
) -> None:
    log_in(fresh, quick, "/active")
    shows(fresh, "没有正在进行的任务")
    with Database.open(path) as db:
        seeder = Seeder(db)
        task = seeder.begin("数一数文件")
        shows(fresh, f"任务 {task}")
        shows(fresh, task, within="#news")

        seeder.turn(task, "system", {"text": "规则", "version": "1"})
        seeder.turn(task, "assistant", {"text": "先列出文件"})
        shows(fresh, "先列出文件")
        fresh.click("summary")
        fresh.wait_for("document.querySelector('details[id]').open")
        seeder.turn(task, "assistant", {"text": "一共三个"})
        shows(fresh, "一共三个")

        assert fresh.evaluate("document.querySelector('details[id]').open") is True
        assert fresh.evaluate("document.activeElement.tagName") == "SUMMARY"
        seeder.move(task, TaskState.completing, TaskState.completed, reason="answered")
        shows(fresh, "上一个任务")
    assert fresh.complaints == []


def test_refreshing_can_be_paused_and_goes_on(
    fresh: Browser, quick: ConsoleServer, path: Path
) -> None:
    log_in(fresh, quick, "/tasks")
    fresh.click("#live-toggle")
    shows(fresh, "已暂停刷新", within="#live-text")
    asked = len(fresh.requested)
    with Database.open(path) as db:
        task = Seeder(db).begin("暂停时开始的任务")
    fresh.evaluate("new Promise(done => setTimeout(done, 700))")

    assert len(fresh.requested) == asked
    assert task not in fresh.evaluate("document.querySelector('#live').textContent")
    fresh.click("#live-toggle")
    shows(fresh, task)


def test_a_revoked_viewers_open_page_says_so_and_stops_asking(
    fresh: Browser, quick: ConsoleServer, path: Path
) -> None:
    log_in(fresh, quick, "/tasks")
    with Database.open(path) as db, db.transaction():
        ViewerStore(db).revoke(VIEWER)

    shows(fresh, "登录已失效", within="#live-text")
    asked = len(fresh.requested)
    fresh.evaluate("new Promise(done => setTimeout(done, 700))")
    assert len(fresh.requested) == asked


@pytest.mark.parametrize("width", [390, 320])
def test_every_page_fits_a_phone(
    fresh: Browser, weeks: ConsoleServer, seeded: Seeded, width: int
) -> None:
    log_in(fresh, weeks)
    fresh.show_as(width, 800, dark=True, phone=True)
    for page in (*PAGES, *single_pages(seeded)):
        show(fresh, weeks, page)
        assert fresh.evaluate("document.documentElement.scrollWidth") == width, page

    assert fresh.evaluate("getComputedStyle(document.body).backgroundColor") == "rgb(16, 21, 27)"
    assert not fresh.evaluate("document.querySelector('.side').checkVisibility()")
    fresh.click(".menu-button")
    assert fresh.evaluate("document.querySelector('.side').checkVisibility()")


@pytest.mark.timeout(120)
@pytest.mark.parametrize("language", ["zh", "en"])
def test_lists_fit_every_width_in_both_languages(
    fresh: Browser, weeks: ConsoleServer, language: str
) -> None:
    log_in(fresh, weeks)
    fresh.open(f"{weeks.url}/?lang={language}")
    fresh.wait_for(f"document.documentElement?.lang.startsWith({language!r}) && !location.search")
    for width in (390, 700, 900, 1080):
        fresh.show_as(width, 4_000)
        for page in ("/", "/tasks", "/tickets", "/audit"):
            show(fresh, weeks, page)
            assert fresh.evaluate("document.documentElement.scrollWidth") <= width, (width, page)


def test_a_theme_can_be_chosen_against_the_system(fresh: Browser, weeks: ConsoleServer) -> None:
    log_in(fresh, weeks)
    fresh.click(".themes a:nth-child(3)")
    fresh.wait_for("document.documentElement?.dataset.theme === 'dark'")

    assert fresh.evaluate("getComputedStyle(document.body).backgroundColor") == "rgb(16, 21, 27)"


def test_everything_can_be_reached_with_the_keyboard(
    fresh: Browser, weeks: ConsoleServer, seeded: Seeded
) -> None:
    log_in(fresh, weeks)
    show(fresh, weeks, f"/tasks/{seeded.finished}")
    fresh.evaluate("document.activeElement.blur()")
    fresh.press(*TAB)
    first = fresh.evaluate("document.activeElement.className")
    press_enter(fresh)
    inside = fresh.wait_for("document.activeElement.id")
    reached = set()
    for _ in range(60):
        fresh.press(*TAB)
        reached.add(
            fresh.evaluate(
                "document.activeElement.tagName + '.' + document.activeElement.className"
            )
        )

    assert first == "skip"
    assert inside == "content"
    assert {"BUTTON.quiet", "SUMMARY.", "PRE.result", "A.tool", "A.id"} <= reached


@pytest.mark.timeout(180)
@pytest.mark.parametrize("look", ["light", "dark", "phone"])
def test_axe_finds_nothing_serious(
    fresh: Browser, weeks: ConsoleServer, seeded: Seeded, look: str
) -> None:
    axe = find_axe()
    fresh.show_as(390 if look == "phone" else 1280, 860, dark=look == "dark", phone=look == "phone")
    fresh.open(weeks.url + "/login")
    fresh.wait_for(f"document.querySelector('#token') !== null && {COMPLETE}")
    found = {"/login": serious_findings(fresh, axe)}
    log_in(fresh, weeks)
    singles = single_pages(seeded)
    all_pages = (*PAGES, *singles, "/find?id=nobody")
    # Colours and widths differ between looks, structure does not.
    for page in all_pages if look == "light" else ("/", "/tickets", "/usage", *singles[:3]):
        show(fresh, weeks, page)
        found[page] = serious_findings(fresh, axe)

    assert {page: faults for page, faults in found.items() if faults} == {}
