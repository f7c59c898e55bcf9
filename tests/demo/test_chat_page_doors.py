"""The chat page opens to its own page on loopback and to nobody else; no browser needed."""

import re
from collections.abc import Iterator

import pytest
import requests

from perlica.demo.napcat import NapCatStandIn
from perlica.demo.napcat.chat_page import CONTENT_SECURITY_POLICY, ChatPage

MING, NOBODY = 30001, 777
WITHIN_S = 5


@pytest.fixture
def napcat() -> Iterator[NapCatStandIn]:
    with NapCatStandIn() as stand_in:
        yield stand_in


@pytest.fixture
def page(napcat: NapCatStandIn) -> Iterator[ChatPage]:
    with ChatPage(napcat) as served:
        yield served


def proof_of(page: ChatPage) -> str:
    index = requests.get(page.url, timeout=WITHIN_S).text
    found = re.search(r'name="page-proof" content="([^"]+)"', index)
    assert found
    return found[1]


def post(page: ChatPage, fields: object, path: str = "api/say", **headers: str) -> int:
    ours = {"Origin": page.url.rstrip("/"), "X-Demo-Page": proof_of(page)}
    changed = {name.replace("_", "-"): value for name, value in headers.items()}
    answer = requests.post(
        f"{page.url}{path}", json=fields, headers=ours | changed, timeout=WITHIN_S
    )
    return answer.status_code


def greeting(napcat: NapCatStandIn, user_id: int = MING) -> dict[str, object]:
    parts = [{"kind": "text", "text": "你好"}]
    return {"group_id": napcat.group_id, "user_id": user_id, "parts": parts}


def test_the_page_itself_may_speak(napcat: NapCatStandIn, page: ChatPage) -> None:
    assert post(page, greeting(napcat)) == 200
    assert napcat.kernel.history.of_group(napcat.group_id)[-1].text == "你好"


@pytest.mark.parametrize(
    "foreign",
    [
        {"Origin": "http://evil.example"},
        {"Origin": "null"},
        {"X_Demo_Page": "guessed"},
        {"X_Demo_Page": ""},
        {"Sec_Fetch_Site": "cross-site"},
        {"Sec_Fetch_Site": "same-site"},
        {"Content_Type": "text/plain"},
        {"Host": "evil.example"},
    ],
)
def test_a_foreign_page_may_not(
    foreign: dict[str, str], napcat: NapCatStandIn, page: ChatPage
) -> None:
    assert post(page, greeting(napcat), **foreign) == 403
    assert napcat.kernel.history.of_group(napcat.group_id) == ()


@pytest.mark.parametrize("path", ["", "api/state", "api/feed", "chat.js"])
def test_a_rebound_name_reads_nothing(path: str, page: ChatPage) -> None:
    answer = requests.get(
        f"{page.url}{path}", headers={"Host": f"evil.example:{page.port}"}, timeout=WITHIN_S
    )

    assert (answer.status_code, answer.text) == (403, "unknown host")


@pytest.mark.parametrize("path", ["", "chat.css", "api/state", "nothing/here", "../account.py"])
def test_every_answer_carries_the_security_headers(path: str, page: ChatPage) -> None:
    answer = requests.get(f"{page.url}{path}", timeout=WITHIN_S)

    assert answer.headers["Content-Security-Policy"] == CONTENT_SECURITY_POLICY
    assert "unsafe" not in CONTENT_SECURITY_POLICY
    assert answer.headers["X-Content-Type-Options"] == "nosniff"


def test_nonsense_is_refused(napcat: NapCatStandIn, page: ChatPage) -> None:
    extra = {**greeting(napcat), "is_admin": True}

    assert post(page, extra) == 400
    assert post(page, greeting(napcat, NOBODY)) == 404
    assert post(page, {"id": "1"}, path="api/recall") == 404


def test_the_page_has_no_inline_code_and_no_foreign_address(page: ChatPage) -> None:
    index = requests.get(page.url, timeout=WITHIN_S).text

    assert not re.search(r"\son\w+=|<style|style=|https?://", index)
    assert re.findall(r"<script[^>]*>", index) == ['<script type="module" src="/chat.js">']


def test_a_page_of_an_earlier_run_is_told_to_reload(page: ChatPage) -> None:
    answer = requests.get(f"{page.url}api/feed?after=other-12", timeout=WITHIN_S)

    assert answer.text.startswith("event: reload\n")
