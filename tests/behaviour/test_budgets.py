"""Every budget is finite, and hitting one ends the task with its reason."""

import pytest

from perlica.demo.model import Call, Held, Reply, ScriptedModel
from perlica.demo.napcat import NapCatStandIn
from tests.behaviour.asking import create, run
from tests.behaviour.conftest import MakeLive
from tests.behaviour.live import MEMBER, is_final

EXECUTED = "SELECT count(*) FROM operations WHERE action = 'sandbox.exec'"


def recent(limit: int) -> Call:
    """A harmless call that differs by its limit."""
    return Call(tool="group_recent_context", arguments={"limit": limit})


def test_the_number_of_model_calls_is_bounded(
    make_live: MakeLive, model: ScriptedModel, napcat: NapCatStandIn
) -> None:
    make_live(model.base_url, extra="[task]\nmax_model_calls = 3\n")
    model.add(*[Reply(calls=(recent(number),)) for number in range(1, 9)])

    asked = napcat.say(MEMBER, "一直做", mention=True)

    assert "模型调用次数到了上限" in napcat.wait_for_reply(is_final, after=asked).text
    assert len(model.requests) == 3


def test_calls_beyond_the_number_of_tool_calls_never_run(
    make_live: MakeLive, model: ScriptedModel, napcat: NapCatStandIn
) -> None:
    live = make_live(model.base_url, extra="[task]\nmax_tool_calls = 3\n")
    model.add(Reply(calls=(create(), run("echo", "1"))))
    model.add(Reply(calls=(run("echo", "2"), run("echo", "3"))))

    asked = napcat.say(MEMBER, "做很多", mention=True)

    assert "工具调用次数到了上限" in napcat.wait_for_reply(is_final, after=asked).text
    assert live.count(EXECUTED) == 1


def test_the_number_of_tokens_is_bounded(
    make_live: MakeLive, model: ScriptedModel, napcat: NapCatStandIn
) -> None:
    make_live(model.base_url, extra="[task]\nmax_tokens = 1000\n")
    model.add(*[Reply(calls=(recent(number),)) for number in range(1, 9)])

    asked = napcat.say(MEMBER, "用很多 token", mention=True)

    assert "用量（token）到了上限" in napcat.wait_for_reply(is_final, after=asked).text
    assert len(model.requests) < 8


def test_the_same_call_again_and_again_ends_the_task(
    make_live: MakeLive, model: ScriptedModel, napcat: NapCatStandIn
) -> None:
    live = make_live(model.base_url, extra="[task]\nmax_equal_calls = 3\n")
    model.add(Reply(calls=(create(),)), *[Reply(calls=(run("echo", "x"),))] * 9)

    asked = napcat.say(MEMBER, "重复", mention=True)

    assert "反复做同一个调用" in napcat.wait_for_reply(is_final, after=asked).text
    assert live.count(EXECUTED) == 3


def test_the_time_of_a_task_is_bounded_also_while_the_model_thinks(
    make_live: MakeLive, model: ScriptedModel, napcat: NapCatStandIn
) -> None:
    make_live(model.base_url, extra="[task]\nwall_time_s = 1\n")
    held = Held(reply=Reply(text="太晚"))
    model.add(held, Reply(text="下一个"))

    asked = napcat.say(MEMBER, "想很久", mention=True)
    ended = napcat.wait_for_reply(is_final, after=asked)
    model.wait_for_disconnect(5)
    following = napcat.say(MEMBER, "再来", mention=True)
    answer = napcat.wait_for_reply(is_final, after=following)
    held.released.set()

    assert "超过了总时长上限" in ended.text
    assert "下一个" in answer.text


@pytest.mark.parametrize("shows", [True, False])
def test_the_last_line_says_what_was_used_where_that_is_configured(
    make_live: MakeLive, model: ScriptedModel, napcat: NapCatStandIn, *, shows: bool
) -> None:
    live = make_live(model.base_url, extra=f"[task]\nshow_usage = {str(shows).lower()}\n")
    model.add(Reply(calls=(recent(3),)), Reply(text="好"))

    asked = napcat.say(MEMBER, "看看", mention=True)
    answer = napcat.wait_for_reply(is_final, after=asked)

    assert ("用量：模型 2 次，工具 1 次" in answer.text.splitlines()[-1]) is shows
    kept = "SELECT json_extract(content, '$.input_tokens') > 0 FROM session_summaries"
    assert live.count(kept) == 1


def test_a_task_that_was_cancelled_says_its_usage_too(
    make_live: MakeLive, model: ScriptedModel, napcat: NapCatStandIn
) -> None:
    make_live(model.base_url, extra="[task]\nshow_usage = true\n")
    model.add(Held(reply=Reply(text="太晚")))
    asked = napcat.say(MEMBER, "想很久", mention=True)
    model.wait_for_request()

    napcat.say(MEMBER, ".cancel")

    ended = napcat.wait_for_reply(lambda m: "已取消" in m.text, after=asked)
    assert "用量：" in ended.text
