"""The window of a task: three limits together, the trigger whole, what it quotes beside it."""

import json
import re

import pytest
import time_machine

from perlica.demo.model import Reply, ScriptedModel
from perlica.demo.napcat import Message, NapCatStandIn
from perlica.demo.napcat.faults import AnswerLate
from tests.behaviour.conftest import MakeLive
from tests.behaviour.live import GUEST, MEMBER, OWNER, TOMORROW_S, LivePerlica, is_final, wait_until

MESSAGES = "SELECT count(*) FROM group_messages"
NOT_FOUND = """
SELECT count(*) FROM tasks WHERE json_extract(window_facts, '$.quoted') = 'not_found'
"""
SENT_ANSWERS = "SELECT count(*) FROM outbox_messages WHERE kind = 'final' AND state = 'sent'"


def window_of(model: ScriptedModel, number: int = -1) -> str:
    """The window as the model read it."""
    messages = model.requests[number]["messages"]
    return next(str(m["content"]) for m in messages if m["role"] == "user")


def _say_all(live: LivePerlica, napcat: NapCatStandIn, texts: list[str]) -> list[Message]:
    known = live.count(MESSAGES)
    said = [napcat.say(GUEST, text) for text in texts]
    wait_until(lambda: live.count(MESSAGES) == known + len(texts))
    return said


@pytest.mark.evidence(3)
def test_at_most_thirty_messages_count_the_trigger_among_them(
    live: LivePerlica, model: ScriptedModel, napcat: NapCatStandIn
) -> None:
    model.add(Reply(text="好"))
    _say_all(live, napcat, [f"闲聊{number:02d}" for number in range(40)])

    asked = napcat.say(MEMBER, "总结一下", mention=True)
    napcat.wait_for_reply(is_final, after=asked)

    seen = re.findall(r"闲聊(\d\d)", window_of(model))
    assert seen == [f"{number:02d}" for number in range(11, 40)]
    facts = "SELECT count(*) FROM tasks WHERE json_extract(window_facts, '$.cut_by') = 'messages'"
    assert live.count(facts) == 1


@pytest.mark.evidence(3)
def test_at_most_24000_characters_count_the_trigger_among_them(
    live: LivePerlica, model: ScriptedModel, napcat: NapCatStandIn
) -> None:
    model.add(Reply(text="好"))
    _say_all(live, napcat, [f"第{number}条" + "字" * 4_000 for number in range(9)])

    asked = napcat.say(MEMBER, "总结" + "一" * 4_000, mention=True)
    napcat.wait_for_reply(is_final, after=asked)

    seen = re.findall(r"第(\d)条", window_of(model))
    assert seen == ["5", "6", "7", "8"]
    assert live.count("SELECT json_extract(window_facts, '$.code_points') FROM tasks") <= 24_000


@pytest.mark.evidence(3)
def test_talk_older_than_a_quarter_of_an_hour_stays_out_unless_it_is_quoted(
    live: LivePerlica, model: ScriptedModel, napcat: NapCatStandIn
) -> None:
    with time_machine.travel(TOMORROW_S, tick=True) as clock:
        model.add(Reply(text="好"))
        quoted, _ = _say_all(live, napcat, ["很早的一条", "另一条很早的"])
        clock.shift(901)
        _say_all(live, napcat, ["刚才的一条"])

        asked = napcat.say(MEMBER, "说说这条", mention=True, reply_to=quoted)
        napcat.wait_for_reply(is_final, after=asked)

    window = window_of(model)
    assert "刚才的一条" in window
    assert "很早的一条" in window
    assert "另一条很早的" not in window
    assert live.count("SELECT json_extract(window_facts, '$.cut_by') = 'age' FROM tasks") == 1


@pytest.mark.evidence(3)
def test_a_request_that_alone_is_too_long_makes_no_task_and_says_so(
    live: LivePerlica, model: ScriptedModel, napcat: NapCatStandIn
) -> None:
    asked = napcat.say(MEMBER, "长" * 24_001, mention=True)

    answer = napcat.wait_for_reply(after=asked)

    assert "缩短" in answer.text
    assert live.count("SELECT count(*) FROM tasks") == 0
    assert model.requests == ()


def test_a_limit_of_the_configuration_can_only_tighten_the_window(
    make_live: MakeLive, model: ScriptedModel, napcat: NapCatStandIn
) -> None:
    live = make_live(model.base_url, extra="[task]\nwindow_messages = 3\n")
    model.add(Reply(text="好"))
    _say_all(live, napcat, ["一", "二", "三"])

    asked = napcat.say(MEMBER, "总结", mention=True)
    napcat.wait_for_reply(is_final, after=asked)

    window = window_of(model)
    assert ": 一" not in window
    assert ": 二" in window
    assert ": 三" in window


@pytest.mark.evidence(10)
def test_later_talk_commands_and_other_tasks_do_not_join_the_session(
    live: LivePerlica, model: ScriptedModel, napcat: NapCatStandIn
) -> None:
    from perlica.demo.model import Call, Held

    recent = Call(tool="sandbox_manage", arguments={"action": "list"})
    held = Held(reply=Reply(calls=(recent,)))
    model.add(Reply(text="第一个任务的回答"), held, Reply(text="好"))
    first = napcat.say(OWNER, "第一件", mention=True)
    napcat.wait_for_reply(is_final, after=first)
    second = napcat.say(OWNER, "第二件", mention=True)
    model.wait_for_request(2)
    napcat.say(OWNER, ".status")
    napcat.say(MEMBER, "后来的闲聊")
    napcat.wait_for_reply(lambda m: "状态" in m.text, after=second)
    held.released.set()
    napcat.wait_for_reply(is_final, after=second)

    seen = json.dumps(model.requests[-1]["messages"], ensure_ascii=False)
    assert "后来的闲聊" not in seen
    assert ".status" not in seen
    assert "第一个任务的回答" not in seen
    assert "【请求】" in seen


@pytest.mark.evidence(3)
def test_a_quoted_answer_of_perlica_is_in_the_window_whatever_its_age(
    live: LivePerlica, model: ScriptedModel, napcat: NapCatStandIn
) -> None:
    with time_machine.travel(TOMORROW_S, tick=True) as clock:
        model.add(Reply(text="端口是八千四百五十"), Reply(text="好"))
        first = napcat.wait_for_reply(is_final, after=napcat.say(OWNER, "端口？", mention=True))
        wait_until(lambda: live.count(SENT_ANSWERS) == 1)
        clock.shift(3_600)

        asked = napcat.say(MEMBER, "换成别的", mention=True, reply_to=first)
        napcat.wait_for_reply(is_final, after=asked)

    assert "（你之前的回答）（被请求引用）: 【Perlica 回答" in window_of(model)
    assert "端口是八千四百五十" in window_of(model)


@pytest.mark.evidence(3)
def test_a_recalled_answer_cannot_be_quoted(
    live: LivePerlica, model: ScriptedModel, napcat: NapCatStandIn
) -> None:
    model.add(Reply(text="四十二"), Reply(text="好"))
    answer = napcat.wait_for_reply(is_final, after=napcat.say(OWNER, "是多少？", mention=True))
    wait_until(lambda: live.count(SENT_ANSWERS) == 1)
    napcat.recall(answer)
    wait_until(lambda: live.count(f"{SENT_ANSWERS} AND recalled_at_ms IS NOT NULL") == 1)

    asked = napcat.say(OWNER, "再说一次", mention=True, reply_to=answer)
    napcat.wait_for_reply(is_final, after=asked)

    assert "四十二" not in window_of(model)
    assert live.count(NOT_FOUND) == 1


@pytest.mark.evidence(3)
def test_an_answer_recalled_before_its_sending_was_confirmed_cannot_be_quoted(
    live: LivePerlica, model: ScriptedModel, napcat: NapCatStandIn
) -> None:
    model.add(Reply(text="四十二"), Reply(text="好"))
    napcat.faults.next_calls(AnswerLate(by_s=1.0), action="send_group_msg")
    answer = napcat.wait_for_reply(is_final, after=napcat.say(OWNER, "是多少？", mention=True))
    napcat.recall(answer)
    wait_until(lambda: live.count(SENT_ANSWERS) == 1)

    asked = napcat.say(OWNER, "再说一次", mention=True, reply_to=answer)
    napcat.wait_for_reply(is_final, after=asked)

    assert "四十二" not in window_of(model)


@pytest.mark.evidence(3)
def test_the_answer_to_a_command_cannot_be_quoted(
    live: LivePerlica, model: ScriptedModel, napcat: NapCatStandIn
) -> None:
    model.add(Reply(text="好"))
    status = napcat.say(OWNER, ".status")
    shown = napcat.wait_for_reply(after=status)

    asked = napcat.say(OWNER, "说说看", mention=True, reply_to=shown)
    napcat.wait_for_reply(is_final, after=asked)

    assert "你之前的回答" not in window_of(model)
    assert shown.text.splitlines()[0].strip() not in window_of(model)


def test_an_answer_too_long_for_the_group_names_its_page_in_the_console(
    make_live: MakeLive, model: ScriptedModel, napcat: NapCatStandIn
) -> None:
    url = "https://perlica.example"
    make_live(
        model.base_url,
        extra=f'[console]\nlisten = "127.0.0.1:8450"\npublic_url = "{url}/"\n',
    )
    model.add(Reply(text="很长的一句话。\n" * 2_000))

    asked = napcat.say(MEMBER, "写长一点", mention=True)
    last = napcat.wait_for_reply(lambda m: m.text.lstrip().startswith("(4/4)"), after=asked)

    task = re.search(r"T-\w+", napcat.wait_for_reply(is_final, after=asked).text)
    assert task is not None
    assert f"全文在控制台：{url}/tasks/{task[0]} ）" in last.text
