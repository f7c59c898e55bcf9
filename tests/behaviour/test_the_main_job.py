"""A mention becomes work and an answer; everything else of the group does not."""

import pytest

from perlica.demo.model import Call, RehearsalModel, Reply, ScriptedModel
from perlica.demo.napcat import NapCatStandIn
from tests.behaviour.conftest import MakeLive
from tests.behaviour.live import GUEST, MEMBER, OWNER, LivePerlica, is_final, marker, wait_until


def test_a_mention_runs_a_command_and_the_group_reads_its_true_output(
    make_live: MakeLive, rehearsal: RehearsalModel, napcat: NapCatStandIn
) -> None:
    make_live(rehearsal.base_url)
    word = marker()

    asked = napcat.say(MEMBER, f"运行 `echo {word}`", mention=True)

    answer = napcat.wait_for_reply(is_final, after=asked)
    assert word in answer.text


@pytest.mark.evidence(2)
def test_talk_without_a_mention_makes_no_task(
    live: LivePerlica, model: ScriptedModel, napcat: NapCatStandIn
) -> None:
    model.add(Reply(text="好"))

    napcat.say(OWNER, "Perlica 帮我看看")
    napcat.say(OWNER, "在吗", mention=True)

    napcat.wait_for_reply(is_final)
    assert live.count("SELECT count(*) FROM tasks") == 1
    assert live.count("SELECT count(*) FROM group_messages") == 2


@pytest.mark.evidence(2)
def test_people_who_are_not_listed_get_no_task_and_no_reply(
    live: LivePerlica, model: ScriptedModel, napcat: NapCatStandIn
) -> None:
    model.add(Reply(text="好"))

    napcat.say(GUEST, "帮我跑个命令", mention=True)
    napcat.say(GUEST, ".status")
    napcat.say(OWNER, "在吗", mention=True)

    napcat.wait_for_reply(is_final)
    assert len(napcat.sent) == 1
    assert live.count("SELECT count(*) FROM tasks") == 1


def test_several_calls_of_one_turn_are_answered_one_by_one_in_order(
    live: LivePerlica, model: ScriptedModel, napcat: NapCatStandIn
) -> None:
    model.add(
        Reply(
            calls=(
                Call(tool="sandbox_manage", arguments={"action": "create", "name": "main"}),
                Call(tool="sandbox_exec", arguments={"sandbox": "main", "argv": ["echo", "eins"]}),
                Call(tool="sandbox_exec", arguments={"sandbox": "main", "argv": ["echo", "zwei"]}),
            )
        ),
        Reply(text="做好了"),
    )

    napcat.say(MEMBER, "做三件事", mention=True)

    napcat.wait_for_reply(is_final)
    results = [m["content"] for m in model.requests[1]["messages"] if m["role"] == "tool"]
    assert [("ready" in results[0]), ("eins" in results[1]), ("zwei" in results[2])] == [True] * 3
    wait_until(lambda: live.count("SELECT count(*) FROM tasks WHERE state='completed'") == 1)
