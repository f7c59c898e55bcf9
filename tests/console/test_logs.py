"""Tokens and cookies appear in no log, whatever happens to them."""

import json
import logging
import secrets
import threading
import warnings
from collections.abc import Iterator
from pathlib import Path

import pytest

from perlica.app.config.sections import LogSection
from perlica.app.logs import start_logging
from perlica.console import ConsoleSettings, start_console
from perlica.gateway.known_actions import CATALOG
from perlica.stores.database import Database
from perlica.stores.viewers import ViewerStore
from tests.console.people import Person
from tests.console.seeder import VIEWER, add_viewer

PROXY_SECRET = "proxy-canary-" + secrets.token_urlsafe(24)


@pytest.fixture
def log_file(tmp_path: Path) -> Iterator[Path]:
    """Everything that the process logs, as the service writes it, at its most talkative."""
    root = logging.getLogger()
    handlers, level = list(root.handlers), root.level
    hook = threading.excepthook
    path = tmp_path / "perlica.log"
    handler = start_logging(LogSection(level="debug", file=path, repeat_within_s=0))
    yield path
    root.removeHandler(handler)
    handler.close()
    for old in handlers:
        root.addHandler(old)
    root.setLevel(level)
    threading.excepthook = hook
    logging.captureWarnings(capture=False)
    logging.raiseExceptions = True
    warnings.resetwarnings()


def test_no_token_cookie_or_secret_is_ever_logged(
    path: Path,
    log_file: Path,
    monkeypatch: pytest.MonkeyPatch,
    capfd: pytest.CaptureFixture[str],
) -> None:
    right, wrong = (f"perlica-viewer-{secrets.token_urlsafe(32)}" for _ in range(2))
    with Database.open(path) as db:
        add_viewer(db, name="canary", token=right)
    settings = ConsoleSettings(
        actions=CATALOG, proxy_secret=PROXY_SECRET, login_failures=3, login_wait_s=600
    )
    console = start_console(settings, path)
    with Person(console) as person:
        person.log_in(right)
        cookie = person.cookies["perlica_console"]
        person.read("/")
        with monkeypatch.context() as broken:
            broken.setattr("perlica.console.frame.list_pages", _fail_with(right, cookie))
            assert person.get("/tasks").status_code == 500
        person.get(f"/tasks?token={right}")
        person.ask("BREW", f"/{right}", headers={"Cookie": f"perlica_console={cookie}"})
        person.get("/", headers={"Host": wrong})
        with Database.open(path) as db, db.transaction():
            ViewerStore(db).revoke("canary")
        person.get("/")
        for _ in range(5):
            person.log_in(wrong)
        person.get("/", headers={"X-Perlica-Proxy-Secret": wrong, "X-Perlica-User": "x"})
        proxied = {"X-Perlica-Proxy-Secret": PROXY_SECRET, "X-Perlica-User": "ming"}
        assert person.get("/", headers=proxied).status_code == 200
    console.stop()
    shown = log_file.read_text("utf-8") + "".join(capfd.readouterr())

    for canary in (right, wrong, cookie, PROXY_SECRET, right[15:], VIEWER):
        assert canary not in shown
    events = [json.loads(line)["event"] for line in log_file.read_text("utf-8").splitlines()]
    assert "login at the console" in events
    assert "login at the console refused" in events
    assert "a page of the console failed" in events


def _fail_with(*secret: str) -> object:
    def fail(*_: object) -> None:
        raise ValueError(" ".join(secret))

    return fail


def test_nothing_secret_is_shown_by_a_repr(path: Path) -> None:
    settings = ConsoleSettings(actions=CATALOG, proxy_secret=PROXY_SECRET)

    assert PROXY_SECRET not in repr(settings)
