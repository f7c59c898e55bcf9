"""Whatever stands in the tables, every page is shown, and nothing in it becomes more than text."""

import re
from collections.abc import Iterator

import pytest

from perlica.console import ConsoleSettings, start_console
from perlica.gateway.known_actions import CATALOG
from tests.console.hostile import SIGNS, spoil
from tests.console.people import Person
from tests.console.seeder import make_database

LISTS = (
    "/",
    "/active",
    "/tasks",
    "/tickets",
    "/sandboxes",
    "/image",
    "/outbox",
    "/recovery",
    "/audit",
    "/usage?days=30",
)
MOST_BYTES = 1_500_000
_SCRIPTS = re.compile(r"<script\b[^>]*>")


@pytest.fixture(scope="module")
def spoilt(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[Person, tuple[str, ...]]]:
    """A viewer of a spoilt database, and the pages of its records."""
    path = make_database(tmp_path_factory.mktemp("spoilt") / "perlica.db")
    pages = spoil(path)
    server = start_console(ConsoleSettings(actions=CATALOG), path)
    with Person(server) as person:
        person.log_in()
        yield person, pages
    server.stop()


def check(person: Person, page: str) -> None:
    answer = person.get(page)
    text = answer.content.decode()

    assert answer.status_code == 200, page
    assert [sign for sign in SIGNS if sign in text] == [], page
    assert len(_SCRIPTS.findall(text)) == 1, page  # our own, with its src
    assert 'onerror="' not in text
    assert len(answer.content) < MOST_BYTES, page


@pytest.mark.parametrize("page", LISTS)
def test_every_list_survives_hostile_rows(
    spoilt: tuple[Person, tuple[str, ...]], page: str
) -> None:
    check(spoilt[0], page)


def test_every_single_record_survives(spoilt: tuple[Person, tuple[str, ...]]) -> None:
    person, pages = spoilt

    for page in pages:
        check(person, page)
    assert len(pages) == 8 * 10


def test_hidden_characters_are_shown_and_broken_bytes_are_marked(
    spoilt: tuple[Person, tuple[str, ...]],
) -> None:
    person, _ = spoilt
    tasks = person.read("/tasks")

    assert "\\u{202e}cod.exe" in tasks
    assert "\\xff\\xfe" in tasks
    assert "<script>document.title='hacked'</script>" in tasks  # as text


def test_a_megabyte_is_shown_from_its_beginning_and_read_page_by_page(
    spoilt: tuple[Person, tuple[str, ...]],
) -> None:
    person, pages = spoilt
    calls = [page for page in pages if page.startswith("/calls/")]
    long = next(call for call in calls if "长" * 1_000 in person.get(call).text)

    first, last = person.get(long), person.get(f"{long}?page=17")

    assert first.text.count("长") > 19_000
    assert last.text.count("长") > 9_000
    assert "下一页" in first.text
    assert "下一页" not in last.text


@pytest.mark.parametrize(
    "address",
    [
        "/tasks?before=%ff%fe&state=<script>",
        "/tasks?before=99999999999999999999999.1",
        "/audit?text=%00%ff<b>&since=2026-99-99T00:00&until=x&before=-1",
        "/audit?since=0001-01-01T00:00&until=9999-12-31T23:59",
        "/audit?text=%25%5C_&level=high'--&kind=\u202e&actor=" + "a" * 5_000,
        "/usage?days=9e9",
        "/find?id=%3Cscript%3E",
        "/calls/c_1?page=99999999999999999999",
        "/tasks?" + "&".join(f"a{n}=1" for n in range(500)),
        "/%ff%fe",
        "/tasks/..%2f..%2fetc%2fpasswd",
        "/static/..%2fconsole.css",
    ],
)
def test_a_hostile_address_gives_a_page_or_says_that_there_is_none(
    spoilt: tuple[Person, tuple[str, ...]], address: str
) -> None:
    answer = spoilt[0].get(address)

    assert answer.status_code in {200, 404}
    assert "<script>" not in answer.text
    assert "\u202e" not in answer.text
