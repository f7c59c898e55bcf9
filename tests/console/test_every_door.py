"""Nothing of the console is shown to somebody who is not logged in: every route, page and part.

The list is the application's own, so that a page that is added stands in it.
"""

import re

import pytest

from perlica.console import ConsoleServer, ConsoleSettings
from perlica.console.application import Console
from perlica.console.pages.listed import PAGES
from perlica.console.reader import Reader
from perlica.gateway.known_actions import CATALOG
from tests.console.conftest import StartConsole
from tests.console.people import Person
from tests.console.seeding import Seeded

ROUTES = [route for page in PAGES for route in page.routes]
OPEN = {("GET", "/login"), ("POST", "/login"), ("POST", "/logout")}
"""What a stranger may ask; files of the login page (`/static/`) hold nothing of the service."""
PART = {"X-Console-Part": "live"}
_PLACEHOLDER = re.compile(r"<(\w+):[^>]*>")


def _example(path: str, seeded: Seeded | None = None) -> str:
    """An address of the route, of a thing that exists where the database is given."""
    known = {"task": "T-234567", "seq": "1", "sandbox": "1"}
    if seeded is not None:
        known |= {"task": seeded.finished, "ticket": seeded.ticket}
    return _PLACEHOLDER.sub(lambda found: known.get(found[1], "x"), path)


def _routes(console: ConsoleServer) -> set[tuple[str, str]]:
    app = Console(ConsoleSettings(actions=CATALOG), Reader.__new__(Reader), frozenset()).app
    return {(route.method, route.rule) for route in app.routes}


def test_every_route_of_the_application_is_a_page_of_the_list_or_open_on_purpose(
    console: ConsoleServer,
) -> None:
    pages = {("GET", path) for path in ROUTES}
    static = {route for route in _routes(console) if route[1].startswith("/static/")}

    assert _routes(console) == pages | OPEN | static
    assert [method for method, _ in static] == ["GET"]


@pytest.mark.parametrize("page", ROUTES)
def test_a_page_leads_a_stranger_to_the_login_and_shows_nothing(
    page: str, stranger: Person
) -> None:
    answer = stranger.get(_example(page))

    assert answer.status_code == 303
    assert answer.headers["Location"].startswith("/login")
    assert answer.content == b""


@pytest.mark.parametrize("page", ROUTES)
def test_the_live_part_of_a_page_is_refused_to_a_stranger(page: str, stranger: Person) -> None:
    answer = stranger.get(_example(page), headers=PART)

    assert answer.status_code == 401
    assert answer.text == "log in first\n"


@pytest.mark.parametrize("page", ROUTES)
def test_a_login_that_has_ended_shows_nothing_of_a_page_that_others_see(
    page: str, start: StartConsole
) -> None:
    console = start()
    with Person(console) as viewer, Person(console) as ended:
        viewer.log_in()
        viewer.get(_example(page))
        viewer.get(_example(page), headers=PART)
        ended.carry("perlica_console", "a-cookie-of-yesterday")

        assert ended.get(_example(page)).status_code == 303
        assert ended.get(_example(page), headers=PART).status_code == 401


@pytest.mark.parametrize("page", ROUTES)
def test_every_page_is_shown_to_a_viewer(page: str, looking: Person, seeded: Seeded) -> None:
    answer = looking.get(_example(page, seeded))

    assert answer.status_code in {200, 404}
    assert "/login" not in answer.headers.get("Location", "")


def test_a_link_from_another_site_finds_the_viewer_logged_in(stranger: Person) -> None:
    """A browser sends a Lax cookie along when somebody opens a link, a Strict one it keeps back."""
    cookie = stranger.log_in().headers["Set-Cookie"]
    opened = stranger.get("/tasks", headers={"Sec-Fetch-Site": "cross-site"})

    assert "samesite=lax" in cookie.lower()
    assert opened.status_code == 200


def test_nothing_but_a_post_of_our_own_page_changes_anything(stranger: Person) -> None:
    stranger.log_in()

    foreign = stranger.ask("POST", "/logout", headers={"Origin": "https://elsewhere.example"})

    assert foreign.status_code == 403
    assert stranger.get("/tasks").status_code == 200
