"""A page that comes from outside: ten lines, and it is a page like every other."""

from collections.abc import Callable
from pathlib import Path

import pytest

from perlica.console import ConsoleServer, ConsoleSettings, start_console
from perlica.console.pages.context import Page, PageContext
from perlica.console.pages.listed import PAGES, with_more
from perlica.console.pages.spec import PageSpec
from perlica.console.rendering import Templates
from perlica.domain.errors import Misconfigured
from perlica.domain.texts import Text
from perlica.gateway.known_actions import CATALOG
from tests.console.people import Person
from tests.console.seeding import Seeded

HOSTILE = "<script>alert(1)</script>\u202e"


def show_weather(context: PageContext) -> Page:
    title = context.wording.language.value
    return Page(title=title, template="weather", fields={"sky": HOSTILE})


WEATHER = PageSpec(
    name="weather",
    routes={"/weather": show_weather},
    label=Text(zh="天气", en="Weather"),
    capability="weather",
    templates={"weather": "<h1>{{title}}</h1><p class='sky'>{{sky}}</p>"},
)


def console_with(path: Path, **more: object) -> ConsoleServer:
    settings = ConsoleSettings(actions=CATALOG, more_pages=(WEATHER,), **more)  # type: ignore[arg-type]
    return start_console(settings, path)


@pytest.fixture
def visit(seeded: Seeded) -> Callable[..., tuple[str, str, str]]:
    """What somebody who is logged in, and a stranger, are given for the page and the overview."""

    def visit(**more: object) -> tuple[str, str, str]:
        console = console_with(seeded.path, **more)
        try:
            with Person(console) as stranger, Person(console) as viewer:
                refused = stranger.get("/weather")
                viewer.log_in()
                page = viewer.get("/weather")
                overview = viewer.get("/")
                assert (
                    page.headers["Content-Security-Policy"]
                    == (overview.headers["Content-Security-Policy"])
                )
                assert refused.status_code == 303
                assert refused.headers["Location"].startswith("/login")
                return page.text, overview.text, refused.text
        finally:
            console.stop()

    return visit


def test_it_stands_in_the_navigation_behind_the_others_and_is_escaped(
    visit: Callable[..., tuple[str, str, str]],
) -> None:
    page, overview, refused = visit()

    assert overview.index(">用量") < overview.index(">天气")
    assert 'href="/weather" aria-current=page' in page
    assert 'href="/weather" aria-current' not in overview
    assert "&lt;script&gt;alert(1)&lt;/script&gt;" in page
    assert "\u202e" not in page
    assert "sky" not in refused


def test_a_capability_that_is_off_takes_its_pages_out_of_the_navigation_alone(
    visit: Callable[..., tuple[str, str, str]],
) -> None:
    page, overview, _ = visit(off=frozenset({"weather", "sandbox"}))

    for word in ("天气", "沙箱", "镜像"):
        assert f'">{word}' not in overview
    assert "alert(1)" in page
    assert ">用量" in overview


def test_pages_that_clash_are_refused_at_the_start() -> None:
    again = PageSpec(name="other", routes={"/tasks": show_weather})
    with pytest.raises(Misconfigured, match="/tasks"):
        with_more([again])
    with pytest.raises(Misconfigured, match="weather"):
        with_more([WEATHER, WEATHER])


@pytest.mark.parametrize("text", ["<p>{{!sky}}</p>", "<p>{{ ! sky }}</p>"])
def test_a_template_from_outside_cannot_pass_rows_on_unescaped(text: str) -> None:
    with pytest.raises(Misconfigured):
        Templates({"weather": text})


def test_a_template_from_outside_takes_no_ones_place() -> None:
    with pytest.raises(Misconfigured, match="tasks"):
        Templates({"tasks": "<p></p>"})


def test_every_page_of_the_list_is_linked_to_or_in_the_navigation() -> None:
    names = [page.name for page in PAGES if page.label is None]

    assert names == ["find"]
    assert all(page.href.startswith("/") for page in PAGES)
