"""Nothing from outside the group reaches disk, model or log; nothing is taken twice."""

import json
import logging

import pytest

from perlica.demo.model import Reply, ScriptedModel
from perlica.demo.napcat import NapCatStandIn
from perlica.demo.napcat.faults import Repeat
from tests.behaviour.live import MEMBER, OWNER, LivePerlica, is_final, marker, wait_until


@pytest.mark.evidence(1)
def test_a_message_of_another_group_leaves_no_trace(
    live: LivePerlica,
    model: ScriptedModel,
    napcat: NapCatStandIn,
    caplog: pytest.LogCaptureFixture,
) -> None:
    caplog.set_level(logging.DEBUG)
    model.add(Reply(text="好"))
    word = marker()
    other = napcat.kernel.account.groups[1].group_id

    napcat.say(OWNER, f"运行 `echo {word}`", group=other, mention=True)
    napcat.say(OWNER, f".status {word}", group=other)
    asked = napcat.say(OWNER, "在吗", mention=True)

    napcat.wait_for_reply(is_final, after=asked)
    assert len(napcat.sent) == 1
    assert word.encode() not in live.raw_files()
    assert str(other).encode() not in live.raw_files()
    assert word not in json.dumps(model.requests, ensure_ascii=False)
    assert word not in caplog.text
    assert str(other) not in caplog.text


@pytest.mark.evidence(1)
def test_a_forged_account_or_a_private_message_is_nobody(
    live: LivePerlica, model: ScriptedModel, napcat: NapCatStandIn
) -> None:
    model.add(Reply(text="好"))
    word = marker()
    frame = {
        "post_type": "message",
        "message_type": "group",
        "sub_type": "normal",
        "group_id": napcat.group_id,
        "user_id": OWNER,
        "self_id": napcat.self_id + 1,
        "time": 1_796_036_873,
        "message_id": 77,
        "real_seq": "77",
        "message": [{"type": "text", "data": {"text": word}}],
    }
    napcat.inject(frame)
    napcat.inject({**frame, "self_id": napcat.self_id, "message_type": "private"})
    asked = napcat.say(OWNER, "在吗", mention=True)

    napcat.wait_for_reply(is_final, after=asked)
    assert word.encode() not in live.raw_files()


@pytest.mark.evidence(14)
def test_the_same_message_delivered_again_does_nothing(
    live: LivePerlica, model: ScriptedModel, napcat: NapCatStandIn
) -> None:
    model.add(Reply(text="一次"), Reply(text="第二件"))
    napcat.faults.next_events(Repeat(times=4))

    first = napcat.say(MEMBER, "做一次", mention=True)
    napcat.wait_for_reply(is_final, after=first)
    napcat.redeliver(first)
    second = napcat.say(MEMBER, "做另一件", mention=True)
    napcat.wait_for_reply(is_final, after=second)

    assert live.count("SELECT count(*) FROM tasks") == 2
    assert len(model.requests) == 2


@pytest.mark.evidence(2)
def test_while_a_task_is_alive_a_second_mention_gets_busy_and_makes_no_task(
    live: LivePerlica, model: ScriptedModel, napcat: NapCatStandIn
) -> None:
    from perlica.demo.model import Held

    held = Held(reply=Reply(text="第一件做完"))
    model.add(held)
    first = napcat.say(OWNER, "慢慢做", mention=True)
    model.wait_for_request()

    second = napcat.say(MEMBER, "我也要", mention=True)
    busy = napcat.wait_for_reply(lambda m: "正忙" in m.text, after=second)
    held.released.set()
    napcat.wait_for_reply(is_final, after=first)

    assert "小明" in busy.text
    assert live.count("SELECT count(*) FROM tasks") == 1


@pytest.mark.evidence(5)
def test_a_credential_in_a_message_reaches_neither_disk_nor_model_nor_reply(
    live: LivePerlica, model: ScriptedModel, napcat: NapCatStandIn
) -> None:
    secret, another = ("gh" + "p_" + marker() * 2 + "Aa1Bb2" for _ in range(2))
    model.add(Reply(text=f"我这里也有一个：{another}"))

    asked = napcat.say(OWNER, f"用这个 token：{secret} 去拉代码", mention=True)
    napcat.wait_for_reply(is_final, after=asked)

    assert secret.encode() not in live.raw_files()
    assert secret not in json.dumps(model.requests, ensure_ascii=False)
    assert another not in napcat.sent[-1].text
    assert another.encode() not in live.raw_files()


@pytest.mark.evidence(20)
def test_a_lost_connection_comes_back_and_what_was_said_meanwhile_is_answered(
    live: LivePerlica, model: ScriptedModel, napcat: NapCatStandIn
) -> None:
    model.add(Reply(text="一"), Reply(text="二"))
    asked = napcat.say(MEMBER, "第一件", mention=True)
    napcat.wait_for_reply(is_final, after=asked)
    met = napcat.connection_count

    napcat.cut_connections(reset=True)
    said = napcat.say(MEMBER, "第二件", mention=True)
    wait_until(lambda: napcat.connection_count > met)

    assert "二" in napcat.wait_for_reply(is_final, after=said).text
    assert live.count("SELECT count(*) FROM tasks") == 2
