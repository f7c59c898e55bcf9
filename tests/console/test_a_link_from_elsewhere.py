"""A link to the console in a chat, opened in a real browser that is logged in, shows the page."""

from pathlib import Path

import pytest

from perlica.console import ConsoleServer
from tests.console.test_in_a_browser import CHROMIUM, log_in
from tests.demo.browser import Browser

pytestmark = [
    pytest.mark.browser,
    pytest.mark.skipif(CHROMIUM is None, reason="no chromium on this machine"),
]


def test_a_link_of_another_site_shows_the_page_without_a_second_login(
    console: ConsoleServer, tmp_path: Path
) -> None:
    assert CHROMIUM is not None
    elsewhere = tmp_path / "chat.html"
    elsewhere.write_text(f"<a id=link href='{console.url}/tasks'>tasks</a>")
    with Browser(CHROMIUM, tmp_path / "chromium") as browser:
        log_in(browser, console)
        browser.open(elsewhere.as_uri())
        browser.wait_for("document.querySelector('#link') !== null")

        browser.click("#link")

        browser.wait_for("location.pathname === '/tasks' || location.pathname === '/login'")
        assert browser.evaluate("location.pathname") == "/tasks"
