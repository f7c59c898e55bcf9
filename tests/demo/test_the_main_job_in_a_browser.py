"""The whole demo as a person sees it: browser, chat page, service, node daemon, all real."""

import os
from collections.abc import Iterator
from pathlib import Path

import pytest

from perlica.app.demo.layout import DemoPaths
from perlica.app.demo.stage import Stage
from perlica.demo.napcat.chat_page import ChatPage
from tests.demo.browser import Browser
from tests.demo.test_chat_page import ENTER, browser, shows
from tests.sandboxd.conftest import needs_node

__all__ = ["browser", "needs_node"]

pytestmark = [pytest.mark.browser, pytest.mark.root]
_MING = 30001


@pytest.fixture
def stage(needs_node: None, tmp_path: Path) -> Iterator[Stage]:
    """The demo, started as `make demo` starts it."""
    made = Stage(paths=DemoPaths(root=tmp_path / "demo"), with_sandboxes=True)
    try:
        made.start()
        yield made
    finally:
        made.stop()


def _say(browser: Browser, text: str) -> None:
    browser.click("#mention-bot")
    browser.type(text)
    browser.press(*ENTER)


@pytest.mark.timeout(120)
def test_a_person_runs_a_command_and_approves_a_deletion_in_the_browser(
    stage: Stage, browser: Browser, tmp_path: Path
) -> None:
    with ChatPage(stage.napcat) as page:
        browser.open(page.url)
        browser.wait_for("document.querySelector('.speaker') !== null")
        browser.click(f"input[value='{_MING}']")
        _say(browser, "运行 `echo abc | rev`")
        shows(browser, "cba")
        _say(browser, "删除沙箱 main")
        browser.wait_for("document.querySelector('.decision .approve') !== null")
        picture = os.environ.get("PERLICA_SCREENSHOT")
        browser.click(".decision .approve")
        browser.press(*ENTER)
        shows(browser, "删除沙箱（main）：成功")
        if picture:
            browser.screenshot(Path(picture))
        browser.open("about:blank")
