"""The console can look and not act: over HTTP, in the database, and by what it is made of."""

import subprocess
import sys
from pathlib import Path

import pytest
import requests

from perlica.console import ConsoleServer
from perlica.console.pages.listed import PAGES
from perlica.console.reader import Reader
from perlica.domain.errors import PerlicaError
from perlica.stores.migrations import migrate
from tests.console.people import Person
from tests.console.seeder import make_database
from tests.console.seeding import Seeded, seed

METHODS = ("GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS", "TRACE", "CONNECT", "MOVE")
ROUTES = [route for page in PAGES for route in page.routes]
POSTED = {"/login", "/logout"}
HARMLESS = {200, 303, 404}
"""Of a GET: a page, a login or a way on, no such record."""


def addresses(seeded: Seeded) -> list[str]:
    """One address for every route, and those without one."""
    values = {
        "task": seeded.finished,
        "seq": "3",
        "call": seeded.call,
        "operation": seeded.operation,
        "ticket": seeded.spent,
        "sandbox": str(seeded.sandbox),
    }
    filled = []
    for route in ROUTES:
        path = route
        for name, value in values.items():
            start = path.find(f"<{name}:")
            if start >= 0:
                path = path[:start] + value + path[path.index(">", start) + 1 :]
        assert "<" not in path, route
        filled.append(path)
    return [*filled, "/login", "/logout", "/static/console.css", "/nowhere"]


@pytest.mark.parametrize("method", METHODS)
def test_no_route_answers_a_write(looking: Person, seeded: Seeded, method: str) -> None:
    for path in addresses(seeded):
        try:
            answer = looking.ask(method, path)
        except requests.ConnectionError:
            # The server itself refuses CONNECT and hangs up, sometimes before that is read.
            assert method == "CONNECT"
            continue
        if method in {"GET", "HEAD"}:
            is_post_only = path == "/logout"
            assert answer.status_code in ({405} if is_post_only else HARMLESS), (method, path)
        elif method == "POST" and path == "/login":
            assert answer.status_code == 403  # an empty form is a failed login, nothing else
        elif method == "POST" and path == "/logout":
            assert answer.status_code == 303
            looking.log_in()
        else:
            assert answer.status_code == 405, (method, path)
            assert method == "CONNECT" or "GET" in answer.headers["Allow"]


def test_every_record_has_a_page_and_a_head_request_gets_no_body(
    looking: Person, seeded: Seeded
) -> None:
    for path in addresses(seeded)[: len(ROUTES)]:
        if path == "/find":
            continue
        assert looking.get(path).status_code == 200, path
        head = looking.ask("HEAD", path)
        assert (head.status_code, head.content) == (200, b""), path


def test_looking_changes_no_byte_of_the_database(path: Path, console: ConsoleServer) -> None:
    with Person(console) as person:
        person.log_in()
        before = path.read_bytes()
        for page in ("/", "/tasks", "/audit?text=x", "/usage", "/find?id=x"):
            person.get(page)
        person.ask("POST", "/logout")

    assert path.read_bytes() == before


def test_the_consoles_connection_cannot_write(path: Path) -> None:
    reader = Reader(path)
    with reader.moment() as database, pytest.raises(PerlicaError):
        database.query("DELETE FROM console_viewers")
    with reader.moment() as database:
        left = database.query("SELECT count(*) AS rows FROM console_viewers")
        query_only = database.query("PRAGMA query_only")
    reader.close()

    assert left == [{"rows": 1}]
    assert query_only == [{"query_only": 1}]


def test_the_console_is_made_of_nothing_that_could_act() -> None:
    program = (
        "import sys, perlica.console\n"
        "acting = ('perlica.clients', 'perlica.gateway', 'perlica.session', 'perlica.sandboxes',"
        " 'perlica.commands', 'perlica.app', 'actors', 'pykka', 'requests', 'websocket')\n"
        "print([name for name in sys.modules if name.startswith(acting)])\n"
    )

    ended = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, check=True, timeout=50
    )

    assert ended.stdout.strip() == "[]"


def test_a_page_shows_one_moment_although_somebody_writes(tmp_path: Path) -> None:
    path = make_database(tmp_path / "perlica.db")
    reader = Reader(path)
    with reader.moment() as database:
        before = database.query("SELECT count(*) AS rows FROM tasks")
        seed(path)
        during = database.query("SELECT count(*) AS rows FROM tasks")
    with reader.moment() as database:
        after = database.query("SELECT count(*) AS rows FROM tasks")
    reader.close()

    assert before == during == [{"rows": 0}]
    assert after[0]["rows"] > 30
    migrate(path)
