"""Who takes his message back takes back what it asked for, however far that is."""

from perlica.demo.model import Held, Reply, ScriptedModel
from perlica.demo.napcat import NapCatStandIn
from tests.attack.test_approvals import DELETIONS, PENDING
from tests.behaviour.asking import APPROVE, create, run
from tests.behaviour.live import MEMBER, OWNER, LivePerlica, is_final, wait_until

RECALLED = "SELECT count(*) FROM tasks WHERE state = 'cancelled' AND end_reason = 'recalled'"


def test_a_request_that_is_recalled_while_the_model_thinks_is_cancelled(
    live: LivePerlica, model: ScriptedModel, napcat: NapCatStandIn
) -> None:
    held = Held(reply=Reply(text="zu spät"))
    model.add(held, Reply(text="下一个"))
    asked = napcat.say(MEMBER, "算了", mention=True)
    model.wait_for_request()

    napcat.recall(asked)

    told = napcat.wait_for_reply(lambda m: "撤回" in m.text, after=asked)
    held.released.set()
    following = napcat.say(MEMBER, "下一件", mention=True)
    napcat.wait_for_reply(lambda m: "下一个" in m.text, after=following)
    assert "已取消" in told.text
    assert live.count(RECALLED) == 1
    assert not any("zu spät" in message.text for message in napcat.sent)


def test_a_request_that_is_recalled_while_its_command_runs_stops_the_command(
    live: LivePerlica, model: ScriptedModel, napcat: NapCatStandIn
) -> None:
    model.add(Reply(calls=(create(), run("sleep", "1000"))))
    asked = napcat.say(MEMBER, "睡", mention=True)
    runs = "SELECT count(*) FROM operations WHERE action = 'sandbox.exec' AND state = '{}'"
    wait_until(lambda: live.count(runs.format("started")) == 1)

    napcat.recall(asked)

    napcat.wait_for_reply(lambda m: "撤回" in m.text, after=asked)
    wait_until(lambda: live.count(runs.format("cancelled")) == 1)
    assert live.count(RECALLED) == 1


def test_an_order_that_is_recalled_takes_its_question_with_it(
    live: LivePerlica, model: ScriptedModel, napcat: NapCatStandIn
) -> None:
    model.add(Reply(calls=(create(),)), Reply(text="好"))
    made = napcat.say(MEMBER, "建一个", mention=True)
    napcat.wait_for_reply(is_final, after=made)
    ordered = napcat.say(OWNER, ".sbx delete main")
    question = napcat.wait_for_reply(lambda m: bool(APPROVE.search(m.text)), after=ordered)
    match = APPROVE.search(question.text)
    assert match is not None

    napcat.recall(ordered)

    void = napcat.wait_for_reply(lambda m: "已作废" in m.text, after=question)
    said = napcat.say(OWNER, match.group(0))
    refused = napcat.wait_for_reply(lambda m: match.group(1) in m.text, after=said)
    assert match.group(1) in void.text
    assert "已经有过结果" in refused.text
    assert live.count(PENDING) == live.count(DELETIONS) == 0


def test_a_message_that_is_recalled_when_its_task_is_over_changes_nothing(
    live: LivePerlica, model: ScriptedModel, napcat: NapCatStandIn
) -> None:
    model.add(Reply(text="好"), Reply(text="也好"))
    asked = napcat.say(MEMBER, "做", mention=True)
    napcat.wait_for_reply(is_final, after=asked)

    napcat.recall(asked)

    following = napcat.say(MEMBER, "再做", mention=True)
    napcat.wait_for_reply(lambda m: "也好" in m.text, after=following)
    assert live.count(RECALLED) == 0
