"""The description review: after each run of sandbox work, and what it does to the answer."""

from perlica.demo.model import Call, Reply, ScriptedModel
from perlica.demo.napcat import NapCatStandIn
from tests.behaviour.asking import create, run
from tests.behaviour.live import MEMBER, LivePerlica, is_final

KEEP = Call(tool="sandbox_manage", arguments={"action": "keep", "name": "main"})
LOOK = Call(tool="group_search_history", arguments={"query": "天气"})


def reviews(model: ScriptedModel) -> list[str]:
    """The notes of the last request that ask for a review."""
    notes = (str(m.get("content", "")) for m in model.requests[-1]["messages"])
    return [note for note in notes if "复核：" in note]


def test_work_after_a_review_is_reviewed_again_and_both_answers_reach_the_group(
    live: LivePerlica, model: ScriptedModel, napcat: NapCatStandIn
) -> None:
    model.add(Reply(calls=(create(), run("true"))), Reply(text="第一个回答"))
    model.add(Reply(calls=(run("echo", "more"),)), Reply(text="第二个回答"))
    model.add(Reply(calls=(KEEP,)), Reply(text="复核完了"))

    asked = napcat.say(MEMBER, "跑", mention=True)
    answer = napcat.wait_for_reply(is_final, after=asked)

    assert len(reviews(model)) == 2
    assert "第一个回答\n\n第二个回答" in answer.text
    assert "复核完了" not in answer.text


def test_a_run_of_work_that_ends_with_another_tool_is_reviewed_before_the_answer(
    live: LivePerlica, model: ScriptedModel, napcat: NapCatStandIn
) -> None:
    model.add(Reply(calls=(create(), run("true"))), Reply(calls=(LOOK,)))
    model.add(Reply(calls=(KEEP,)), Reply(text="真正的回答"))

    asked = napcat.say(MEMBER, "跑", mention=True)
    answer = napcat.wait_for_reply(is_final, after=asked)

    (note,) = reviews(model)
    assert "继续做任务" in note
    assert "真正的回答" in answer.text
    assert len(model.requests) == 4


def test_two_runs_of_work_in_one_task_are_two_reviews(
    live: LivePerlica, model: ScriptedModel, napcat: NapCatStandIn
) -> None:
    model.add(Reply(calls=(create(), run("true"))), Reply(calls=(LOOK,)))
    model.add(Reply(calls=(run("echo", "more"),)), Reply(text="真正的回答"))
    model.add(Reply(text="复核完了"))

    asked = napcat.say(MEMBER, "跑", mention=True)
    answer = napcat.wait_for_reply(is_final, after=asked)

    assert len(reviews(model)) == 2
    assert "真正的回答" in answer.text
    assert "复核完了" not in answer.text


def test_a_task_without_sandbox_work_is_asked_for_no_review(
    live: LivePerlica, model: ScriptedModel, napcat: NapCatStandIn
) -> None:
    model.add(Reply(calls=(LOOK,)), Reply(text="没有"))

    asked = napcat.say(MEMBER, "找一下", mention=True)
    napcat.wait_for_reply(is_final, after=asked)

    assert reviews(model) == []
    assert len(model.requests) == 2


def test_a_budget_that_ends_the_work_after_a_review_leaves_the_answer_before_it(
    live: LivePerlica, model: ScriptedModel, napcat: NapCatStandIn
) -> None:
    again = Reply(text="再跑一次", calls=(run("echo", "again"),))
    model.add(Reply(calls=(create(), run("true"))), Reply(text="真正的回答"))
    model.add(*[again] * 30)

    asked = napcat.say(MEMBER, "跑", mention=True)
    answer = napcat.wait_for_reply(is_final, after=asked)

    assert "真正的回答" in answer.text
    assert "再跑一次" not in answer.text
