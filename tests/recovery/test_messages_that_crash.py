"""One bad message never takes the service down, and never takes other messages with it."""

from pathlib import Path

import pytest

from perlica.demo.model import Reply, ScriptedModel
from perlica.demo.napcat import NapCatStandIn
from tests.behaviour.live import (
    MEMBER,
    OWNER,
    PATIENCE_S,
    LivePerlica,
    config_text,
    is_final,
    wait_until,
)
from tests.recovery.process import service_process

EXITS_WITHIN_S = 45.0


def test_a_message_in_hand_at_three_crashes_is_quarantined_and_announced(
    tmp_path: Path, napcat: NapCatStandIn, model: ScriptedModel
) -> None:
    model.add(Reply(text="还在工作"))
    with service_process(tmp_path, config_text(tmp_path, napcat, model.base_url)) as service:
        service.module = "tests.recovery.run_with_poison"
        service.start()
        napcat.wait_for_connection()
        napcat.say(OWNER, "之前的普通消息")
        wait_until(lambda: service.count("SELECT count(*) FROM group_messages") == 1)
        napcat.say(MEMBER, "毒药")
        codes = [service.wait(EXITS_WITHIN_S)]
        for _ in range(2):
            service.start()
            codes.append(service.wait(EXITS_WITHIN_S))

        service.start()

        announced = napcat.wait_for_reply(lambda m: "隔离" in m.text, PATIENCE_S)
        following = napcat.say(MEMBER, "你好", mention=True)
        napcat.wait_for_reply(lambda m: "还在工作" in m.text, PATIENCE_S, after=following)
        quarantined = "SELECT count(*) FROM group_messages WHERE kind = 'quarantined'"
        assert codes == [9, 9, 9]
        assert announced.text
        assert service.count(quarantined) == 1
        assert service.count("SELECT count(*) FROM group_messages WHERE content LIKE '%毒%'") == 0


@pytest.mark.evidence(6)
def test_a_rule_that_raises_costs_its_message_alone_and_keeps_nothing_of_it(
    live: LivePerlica, model: ScriptedModel, napcat: NapCatStandIn
) -> None:
    model.add(Reply(text="好"))
    from tests.protection.failing import failing_rule

    with failing_rule("规则出错"):
        first = napcat.say(MEMBER, "这条会让规则出错", mention=True)
        refused = napcat.wait_for_reply(after=first)
        wait_until(lambda: live.count("SELECT count(*) FROM group_messages") == 1)

    second = napcat.say(MEMBER, "下一条", mention=True)
    answer = napcat.wait_for_reply(is_final, after=second)

    assert "没有保存" in refused.text
    assert "好" in answer.text
    rows = "SELECT count(*) FROM group_messages WHERE protection_status = 'scan_incomplete'"
    assert live.count(rows + " AND content = ''") == 1
    assert "这条会让规则出错".encode() not in live.raw_files()


def test_a_frame_that_cannot_be_parsed_costs_itself_alone(
    live: LivePerlica, model: ScriptedModel, napcat: NapCatStandIn
) -> None:
    model.add(Reply(text="好"))
    base = {
        "post_type": "message",
        "message_type": "group",
        "group_id": napcat.group_id,
        "self_id": napcat.self_id,
        "user_id": MEMBER,
        "time": 1,
        "message_id": 5,
        "real_seq": "7",
    }
    frames: list[dict[str, object]] = [
        {"message": 7},
        {"message": [None, 3]},
        {"message": [{"type": []}]},
        {},
    ]
    for broken in frames:
        napcat.inject({**base, **broken})

    asked = napcat.say(MEMBER, "下一条", mention=True)

    assert "好" in napcat.wait_for_reply(is_final, after=asked).text
