"""What every answer tells the browser: run nothing, frame nothing, keep nothing, ask nobody."""

import re
from pathlib import Path

import pytest

import perlica.console
from perlica.console import ConsoleServer
from tests.console.conftest import StartConsole
from tests.console.people import Person

FOLDER = Path(perlica.console.__file__).parent
TEMPLATES = sorted((FOLDER / "templates").glob("*.html"))
ANSWERS = ("/", "/login", "/tasks", "/tasks/T-NONE", "/nowhere", "/static/console.css", "/logout")
_RAW = re.compile(r"\{\{!\s*(\w+)")
_HANDLER = re.compile(r"\son[a-z]+\s*=", re.IGNORECASE)
_STYLE = re.compile(r"\sstyle\s*=|<style", re.IGNORECASE)
_SCRIPT = re.compile(r"<script(?![^>]*\ssrc=)", re.IGNORECASE)
_OUTSIDE = re.compile(r"(?:src|href|action|url)\s*[=(]\s*[\"']?(?:https?:)?//", re.IGNORECASE)


@pytest.mark.parametrize("page", ANSWERS)
def test_every_answer_forbids_what_a_page_does_not_need(viewer: Person, page: str) -> None:
    headers = viewer.get(page).headers
    policy = dict(
        entry.strip().partition(" ")[::2] for entry in headers["Content-Security-Policy"].split(";")
    )

    assert policy["default-src"] == "'none'"
    assert policy["script-src"] == policy["style-src"] == policy["connect-src"] == "'self'"
    assert policy["frame-ancestors"] == policy["base-uri"] == "'none'"
    assert "unsafe" not in headers["Content-Security-Policy"]
    assert headers["X-Content-Type-Options"] == "nosniff"
    assert headers["X-Frame-Options"] == "DENY"
    assert headers["Referrer-Policy"] == "same-origin"
    assert headers["Server"] == "perlica"


@pytest.mark.parametrize("page", [page for page in ANSWERS if "static" not in page])
def test_nothing_that_was_shown_is_kept(viewer: Person, page: str) -> None:
    assert viewer.get(page).headers["Cache-Control"] == "no-store"


def test_files_are_kept_under_the_name_of_their_content_only(viewer: Person) -> None:
    page = viewer.get("/").text
    named = re.search(r"/static/console\.css\?v=[0-9a-f]+", page)

    assert named is not None
    assert "immutable" in viewer.get(named[0]).headers["Cache-Control"]
    assert viewer.get("/static/console.css").headers["Cache-Control"] == "no-cache"


@pytest.mark.parametrize("template", TEMPLATES, ids=lambda path: path.stem)
def test_a_template_holds_no_inline_script_or_style_and_names_nobody_outside(
    template: Path,
) -> None:
    text = template.read_text("utf-8")

    assert _HANDLER.findall(text) == []
    assert _STYLE.findall(text) == []
    assert _SCRIPT.findall(text) == []
    assert _OUTSIDE.findall(text) == []


@pytest.mark.parametrize("template", TEMPLATES, ids=lambda path: path.stem)
def test_only_the_frames_insert_markup_and_only_what_was_rendered_before(template: Path) -> None:
    raw = set(_RAW.findall(template.read_text("utf-8")))
    frames = {"layout": {"navigation", "content"}, "part": {"navigation", "content"}}

    assert raw <= frames.get(template.stem, {"base"} if template.stem == "bare" else set())


def test_scripts_and_styles_call_nobody_outside_and_make_no_markup_from_text() -> None:
    script = (FOLDER / "static" / "console.js").read_text("utf-8")
    style = (FOLDER / "static" / "console.css").read_text("utf-8")

    assert not re.search(r"https?://|//[a-z0-9]+\.", script + style)
    assert not re.search(r"innerHTML|outerHTML|insertAdjacent|document\.write|eval\(", script)


@pytest.mark.parametrize(
    "host", ["evil.example", "127.0.0.1", "127.0.0.1:1", "perlica.example.internal", ""]
)
def test_an_address_that_is_not_ours_is_refused(viewer: Person, host: str) -> None:
    answer = viewer.get("/", headers={"Host": host})

    assert answer.status_code in {400, 403}
    assert "Content-Security-Policy" in answer.headers or answer.status_code == 400


def test_the_public_address_is_ours_too(start: StartConsole) -> None:
    console = start(public_url="https://perlica.example.internal:8443")
    with Person(console) as person:
        public = person.get("/", headers={"Host": "perlica.example.internal:8443"})
        origin = {"Host": "perlica.example.internal:8443"}
        form = {**origin, "Origin": "https://perlica.example.internal:8443"}
        logged_in = person.ask("POST", "/login", headers=form, data={"token": "x"})

    assert public.status_code == 303
    assert logged_in.status_code == 403
    assert "令牌不对" in logged_in.text


def test_a_request_that_is_too_large_is_refused(console: ConsoleServer) -> None:
    with Person(console) as person:
        large_header = person.get("/", headers={"X-Large": "x" * 20_000})
        large_body = person.ask("POST", "/login", data={"token": "x" * 20_000})

    assert large_header.status_code == 413
    assert large_body.status_code == 413
