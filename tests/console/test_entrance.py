"""Who is let in, who is not, and when that ends."""

from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest
import time_machine

from perlica.console import ConsoleServer
from perlica.domain.clock import now_ms
from perlica.domain.errors import Refused, StaleState
from perlica.stores.database import Database
from perlica.stores.service import ServiceStore
from perlica.stores.viewers import ViewerStore, digest_token
from tests.console.conftest import StartConsole
from tests.console.people import Person, text_of, wait_until
from tests.console.seeder import TOKEN, VIEWER, add_viewer

COOKIE = "perlica_console"
SECRET = "the-shared-secret-of-a-proxy"


def revoke(path: Path, name: str = VIEWER) -> None:
    with Database.open(path) as db, db.transaction():
        ViewerStore(db).revoke(name)


def is_in(person: Person, path: str = "/tasks") -> bool:
    return person.get(path).status_code == 200


def test_a_page_sends_strangers_to_the_login_and_the_login_back_to_the_page(
    stranger: Person,
) -> None:
    refused = stranger.get("/tasks?state=failed")
    logged_in = stranger.log_in(next_path="/tasks?state=failed")

    assert (refused.status_code, refused.headers["Location"]) == (
        303,
        "/login?next=%2Ftasks%3Fstate%3Dfailed",
    )
    assert (logged_in.status_code, logged_in.headers["Location"]) == (303, "/tasks?state=failed")
    assert is_in(stranger)


def test_the_page_says_who_is_logged_in(viewer: Person) -> None:
    assert VIEWER in viewer.read("/")


def test_the_cookie_is_not_the_token_and_scripts_and_other_sites_cannot_have_it(
    stranger: Person,
) -> None:
    answer = stranger.log_in()

    cookie = answer.headers["Set-Cookie"]
    assert TOKEN not in cookie
    assert "HttpOnly" in cookie
    assert "samesite=lax" in cookie.lower()
    assert "Path=/" in cookie
    assert len(stranger.cookies[COOKIE]) >= 43


def test_behind_tls_the_cookie_is_secure_and_bound_to_the_host(start: StartConsole) -> None:
    console = start(public_url="https://perlica.example.internal")
    with Person(console) as person:
        answer = person.log_in()

    cookie = answer.headers["Set-Cookie"]
    assert cookie.startswith("__Host-perlica_console=")
    assert "Secure" in cookie
    assert "max-age" in answer.headers["Strict-Transport-Security"]


@pytest.mark.parametrize("token", ["", "x", TOKEN[:-1], TOKEN + "x", "令牌", "\x00", "a" * 9_000])
def test_a_wrong_token_is_refused_and_says_nothing_more(stranger: Person, token: str) -> None:
    answer = stranger.log_in(token)

    assert answer.status_code in {403, 413}
    assert "Set-Cookie" not in answer.headers
    assert not is_in(stranger)


def test_an_expired_token_is_worthless_and_so_is_its_open_session(
    path: Path, stranger: Person
) -> None:
    with Database.open(path) as db, db.transaction():
        digest = digest_token("a-short-lived-token")
        ViewerStore(db).add("gast", token_digest=digest, lifetime_ms=60_000)
    stranger.log_in("a-short-lived-token")
    before = is_in(stranger)

    with time_machine.travel(datetime.now(UTC) + timedelta(seconds=61), tick=False):
        assert (before, is_in(stranger)) == (True, False)
        assert stranger.log_in("a-short-lived-token").status_code == 403


def test_a_revoked_viewers_cookie_fails_at_once(path: Path, viewer: Person) -> None:
    cookie = viewer.cookies[COOKIE]
    before = is_in(viewer)

    revoke(path)

    assert before
    assert not is_in(viewer)
    viewer.carry(COOKIE, cookie)
    assert not is_in(viewer)
    assert viewer.log_in().status_code == 403


def test_a_token_made_anew_after_a_revocation_does_not_wake_the_old_cookie(
    path: Path, viewer: Person
) -> None:
    revoke(path)
    with Database.open(path) as db:
        add_viewer(db, token="another-token-for-the-same-person")

    assert not is_in(viewer)
    viewer.log_in("another-token-for-the-same-person")
    assert is_in(viewer)


def test_the_backup_of_an_older_time_brings_no_viewer_back(path: Path, viewer: Person) -> None:
    with Database.open(path) as db, db.transaction():
        ServiceStore(db).raise_epoch(now_ms())

    assert not is_in(viewer)
    assert viewer.log_in().status_code == 403
    with Database.open(path) as db:
        add_viewer(db, token="made-after-the-restore")
    viewer.log_in("made-after-the-restore")
    assert is_in(viewer)


def test_a_logout_ends_the_session_for_whoever_kept_the_cookie(viewer: Person) -> None:
    cookie = viewer.cookies[COOKIE]

    answer = viewer.ask("POST", "/logout")

    assert (answer.status_code, answer.headers["Location"]) == (303, "/login")
    viewer.carry(COOKIE, cookie)
    assert not is_in(viewer)


def test_a_login_lasts_as_long_as_configured(start: StartConsole) -> None:
    with Person(start(session_ms=1_000)) as person:
        person.log_in()
        cookie = person.cookies[COOKIE]
        before = is_in(person)
        with time_machine.travel(datetime.now(UTC) + timedelta(seconds=2), tick=False):
            person.carry(COOKIE, cookie)
            after = is_in(person)

    assert (before, after) == (True, False)


def test_an_eleventh_login_of_one_viewer_ends_the_oldest(console: ConsoleServer) -> None:
    people = [Person(console) for _ in range(11)]
    for person in people:
        person.log_in()
    still_in = [is_in(person) for person in people]
    for person in people:
        person.__exit__(None, None, None)

    assert still_in == [False] + [True] * 10


def test_who_fails_too_often_waits_even_with_the_right_token(start: StartConsole) -> None:
    with Person(start(login_failures=3, login_wait_s=1.0)) as person:
        for _ in range(3):
            assert person.log_in("wrong").status_code == 403
        refused = person.log_in()
        waited = int(refused.headers["Retry-After"])

        assert refused.status_code == 429
        assert 1 <= waited <= 2
        assert "失败次数过多" in text_of(refused)
        wait_until(lambda: person.log_in().status_code == 303, within_s=3.0)


def test_a_login_form_of_another_site_is_not_taken(stranger: Person) -> None:
    foreign = {"Origin": "https://evil.example"}
    cross = {"Sec-Fetch-Site": "cross-site"}
    own = {"Origin": stranger.url, "Sec-Fetch-Site": "same-origin"}

    def log_in(headers: dict[str, str]) -> int:
        return stranger.ask("POST", "/login", data={"token": TOKEN}, headers=headers).status_code

    assert [log_in(foreign), log_in(cross), log_in({"Origin": "null"})] == [403] * 3
    assert not is_in(stranger)
    assert log_in(own) == 303


@pytest.mark.parametrize(
    "next_path",
    ["//evil.example", "https://evil.example", "/\\evil.example", "javascript:alert(1)", "/a\r\nb"],
)
def test_the_login_leads_to_no_other_site(stranger: Person, next_path: str) -> None:
    assert stranger.log_in(next_path=next_path).headers["Location"] == "/"


def test_a_trusted_proxy_names_its_user(start: StartConsole) -> None:
    with Person(start(proxy_secret=SECRET)) as person:
        known = {"X-Perlica-Proxy-Secret": SECRET, "X-Perlica-User": "ming@example.com"}
        answer = person.get("/", headers=known)
        text = text_of(answer)

        assert answer.status_code == 200
        assert "ming@example.com" in text
        assert "退出" not in text


@pytest.mark.parametrize(
    "headers",
    [
        {"X-Perlica-User": "ming"},
        {"X-Perlica-User": "ming", "X-Perlica-Proxy-Secret": "guess"},
        {"X-Perlica-Proxy-Secret": SECRET},
        {"X-Perlica-Proxy-Secret": SECRET, "X-Perlica-User": ""},
        # What a proxy that sets its headers with hyphens lets through.
        {"X_Perlica_User": "ming", "X_Perlica_Proxy_Secret": SECRET},
    ],
)
def test_without_the_shared_secret_and_a_name_a_header_opens_nothing(
    start: StartConsole, headers: dict[str, str]
) -> None:
    with Person(start(proxy_secret=SECRET)) as person:
        assert person.get("/", headers=headers).status_code == 303


def test_without_a_configured_secret_no_header_opens_anything(stranger: Person) -> None:
    headers = {"X-Perlica-Proxy-Secret": "", "X-Perlica-User": "ming"}

    assert stranger.get("/", headers=headers).status_code == 303


def test_guessing_the_proxys_secret_has_to_wait_too(start: StartConsole) -> None:
    with Person(start(proxy_secret=SECRET, login_failures=3, login_wait_s=600.0)) as person:
        wrong = {"X-Perlica-Proxy-Secret": "guess", "X-Perlica-User": "ming"}
        for _ in range(3):
            person.get("/", headers=wrong)

        right = {**wrong, "X-Perlica-Proxy-Secret": SECRET}
        assert person.get("/", headers=right).status_code == 303


def test_a_token_is_stored_as_its_digest_alone(path: Path) -> None:
    files = [file.read_bytes() for file in path.parent.iterdir()]

    assert not any(TOKEN.encode() in content for content in files)


def test_a_name_has_one_living_token(path: Path) -> None:
    with Database.open(path) as db:
        with pytest.raises(Refused, match="viewer_exists"):
            add_viewer(db, token="second")
        revoke(path)
        add_viewer(db, token="third")

        assert [v.name for v in ViewerStore(db).list_all()] == [VIEWER, VIEWER]


def test_what_is_revoked_stays_revoked(path: Path) -> None:
    revoke(path)

    with pytest.raises(StaleState, match="no_viewer"):
        revoke(path)
    with Database.open(path) as db, pytest.raises(Refused), db.transaction():
        db.change("UPDATE console_viewers SET revoked_at_ms = NULL")


@pytest.mark.parametrize("name", ["", " ", "a\nb", "a" * 41, "\u202eevil", "<b>"])
def test_a_viewers_name_is_a_plain_name(path: Path, name: str) -> None:
    with Database.open(path) as db, pytest.raises(Refused, match="viewer_name"):
        add_viewer(db, name=name, token="x")
