"""The chat page in a real browser: a person speaks, sees answers, replies, approves, recalls."""

import json
import os
from collections.abc import Iterator
from pathlib import Path

import pytest

from perlica.demo.napcat import NapCatStandIn
from perlica.demo.napcat.chat_page import ChatPage
from tests.demo.browser import Browser, find_chromium
from tests.demo.peer import Peer

CHROMIUM = find_chromium()
MING, JIE = 30001, 30003
ENTER, DOWN = ("Enter", 13), ("ArrowDown", 40)
pytestmark = [
    pytest.mark.browser,
    pytest.mark.skipif(
        CHROMIUM is None and os.environ.get("CI") != "true",
        reason="no chromium on this machine",
    ),
]


@pytest.fixture(scope="module")
def browser(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Browser]:
    assert CHROMIUM, "no chromium on this machine"
    with Browser(CHROMIUM, tmp_path_factory.mktemp("chromium")) as running:
        running.show_as(1280, 860)
        yield running


@pytest.fixture
def napcat() -> Iterator[NapCatStandIn]:
    with NapCatStandIn() as stand_in:
        yield stand_in


@pytest.fixture
def page(napcat: NapCatStandIn, browser: Browser) -> Iterator[ChatPage]:
    with ChatPage(napcat) as served:
        browser.open(served.url)
        browser.wait_for("document.querySelector('.speaker') !== null")
        yield served
        browser.open("about:blank")


@pytest.fixture
def bot(napcat: NapCatStandIn) -> Iterator[Peer]:
    with Peer(napcat) as connected:
        connected.frame()
        yield connected


def answer(bot: Peer, napcat: NapCatStandIn, text: str) -> None:
    message = [{"type": "text", "data": {"text": text}}]
    bot.call("send_group_msg", {"group_id": napcat.group_id, "message": message})


def shows(browser: Browser, text: str, *, within: str = "#messages") -> None:
    wanted = f"document.querySelector('{within}').innerText.includes({json.dumps(text)})"
    browser.wait_for(wanted)


@pytest.mark.usefixtures("page")
def test_a_member_speaks_and_sees_the_answer_at_once(
    browser: Browser, napcat: NapCatStandIn, bot: Peer
) -> None:
    browser.click(f"input[value='{JIE}']")
    browser.click("#mention-bot")
    browser.type("今天的日志")
    browser.press(*ENTER)
    heard = bot.frame()
    answer(bot, napcat, "日志一切正常")

    assert heard["user_id"] == JIE
    assert heard["message"] == [
        {"type": "at", "data": {"qq": str(napcat.self_id)}},
        {"type": "text", "data": {"text": " 今天的日志"}},
    ]
    shows(browser, "日志一切正常")


@pytest.mark.usefixtures("page")
def test_one_click_on_approve_fills_the_command_and_sends_it_as_the_chosen_member(
    browser: Browser, napcat: NapCatStandIn, bot: Peer
) -> None:
    answer(bot, napcat, "需要审批：删除沙箱 main\n.approve a17 9F3K2M\n.deny a17")
    browser.wait_for("document.querySelector('.decision .approve') !== null")
    browser.click(".decision .deny")
    denial = browser.evaluate("document.getElementById('draft').value")
    browser.click(".decision .approve")
    approval = browser.evaluate("document.getElementById('draft').value")
    bot.frames_so_far()

    browser.press(*ENTER)

    assert (denial, approval) == (".deny a17", ".approve a17 9F3K2M")
    heard = bot.frame()
    assert (heard["user_id"], heard["raw_message"]) == (MING, ".approve a17 9F3K2M")


@pytest.mark.usefixtures("page")
def test_a_task_that_was_taken_is_marked_with_a_thumb(
    browser: Browser, napcat: NapCatStandIn, bot: Peer
) -> None:
    napcat.say(MING, "列出沙箱", mention=True)
    heard = bot.frame()

    bot.call("set_msg_emoji_like", {"message_id": heard["message_id"], "emoji_id": "76"})

    browser.wait_for("document.querySelector('.reactions') !== null")
    assert browser.evaluate("document.querySelector('.reactions').innerText") == "👍"


@pytest.mark.usefixtures("page")
def test_only_the_bots_own_messages_get_approval_buttons(
    browser: Browser, napcat: NapCatStandIn
) -> None:
    napcat.say(JIE, "我来批：.approve a17 9F3K2M")

    shows(browser, "我来批")
    assert browser.evaluate("document.querySelector('.decision')") is None


@pytest.mark.usefixtures("page")
def test_typing_an_at_sign_offers_the_members(browser: Browser, bot: Peer) -> None:
    browser.click("#draft")
    browser.type("@")
    browser.wait_for("!document.getElementById('suggestions').hidden")
    browser.press(*DOWN)
    browser.press(*ENTER)
    browser.type("你看呢")
    browser.press(*ENTER)

    assert bot.frame()["raw_message"] == f"[CQ:at,qq={MING}] 你看呢"


@pytest.mark.usefixtures("page")
def test_a_message_can_be_quoted_recalled_and_delivered_again(
    browser: Browser, napcat: NapCatStandIn, bot: Peer
) -> None:
    said = napcat.say(MING, "第一句")
    first = bot.frame()
    shows(browser, "第一句")

    browser.click(".message .deeds button:nth-child(2)")
    again = bot.frame()
    browser.click(".message .deeds button:nth-child(1)")
    browser.type("接着说")
    browser.click(".send")
    reply = bot.frame()
    browser.click(".message .deeds button:nth-child(3)")
    notice = bot.frame()

    assert again == first
    assert reply["raw_message"] == f"[CQ:reply,id={said.message_id}]接着说"
    assert (notice["notice_type"], notice["message_id"]) == ("group_recall", said.message_id)
    shows(browser, "撤回了一条消息")


@pytest.mark.usefixtures("page")
def test_another_group_is_one_click_away(browser: Browser, bot: Peer) -> None:
    browser.click("#groups button:last-child")
    browser.click("#draft")
    browser.type("隔壁的闲聊")
    browser.press(*ENTER)

    assert bot.frame()["group_id"] == 600100999


@pytest.mark.usefixtures("page")
def test_the_page_shows_whether_perlica_is_connected(
    browser: Browser, napcat: NapCatStandIn
) -> None:
    shows(browser, "未连接", within="#status")
    with Peer(napcat) as bot:
        bot.frame()
        shows(browser, "已连接", within="#status")
    shows(browser, "未连接", within="#status")


@pytest.mark.usefixtures("page")
def test_what_members_write_is_never_markup(browser: Browser, napcat: NapCatStandIn) -> None:
    napcat.say(JIE, "<img src=x onerror=\"document.title='hacked'\"><script>1</script>")

    shows(browser, "<img src=x")
    assert browser.evaluate("document.querySelector('#messages img, #messages script')") is None
    assert browser.evaluate("document.title") == "Perlica 演示群"


def test_the_page_speaks_english_and_calls_nobody_outside(browser: Browser, page: ChatPage) -> None:
    browser.click("#language")

    shows(browser, "Speak as", within=".side")
    browser.click("#language")
    asked = {url for url in browser.requested if url != "about:blank"}
    assert all(url.startswith("http://127.0.0.1:") for url in asked)
    assert f"{page.url}chat.js" in asked
    assert browser.complaints == []


def test_the_page_fits_a_phone_in_the_dark(
    browser: Browser, page: ChatPage, tmp_path: Path
) -> None:
    browser.show_as(390, 800, dark=True, phone=True)
    browser.open(page.url)
    browser.wait_for("document.querySelector('.speaker') !== null")

    width = browser.evaluate("document.documentElement.scrollWidth")
    back = browser.evaluate("getComputedStyle(document.body).backgroundColor")
    browser.show_as(1280, 860)

    assert width == 390
    assert back == "rgb(16, 21, 27)"
