"""A member who sends a credential learns what became of it, whatever the model says."""

import pytest

from perlica.demo.model import Call, HttpError, Reply, ScriptedModel
from perlica.demo.napcat import NapCatStandIn
from tests.behaviour.asking import APPROVE, create, delete, run
from tests.behaviour.conftest import MakeLive
from tests.behaviour.live import MEMBER, OWNER, LivePerlica, is_final, marker
from tests.behaviour.test_levels import results

MARK = "⟦凭据:password:1⟧"
COMMANDS = "SELECT count(*) FROM operations WHERE action = 'sandbox.exec'"


def secret_of(text: str) -> str:
    return "Qx" + text[:9] + "9z"


@pytest.mark.evidence(5)
def test_a_command_made_of_a_credential_is_refused_and_the_member_is_told_what_to_do(
    live: LivePerlica, model: ScriptedModel, napcat: NapCatStandIn
) -> None:
    secret = secret_of(marker())
    model.add(Reply(calls=(create(), run("sh", "-c", f'printf "password={MARK}" > /f'))))
    model.add(*[Reply(text="写好了")] * 2)

    asked = napcat.say(MEMBER, f'执行 printf "password={secret}" > /f', mention=True)
    answer = napcat.wait_for_reply(is_final, after=asked).text

    assert "not executed: argv holds the placeholder" in results(model)[1]
    assert live.count(COMMANDS) == 0
    assert f"【凭据】你消息里的凭据换成了 {MARK}" in answer
    assert "请撤回那条消息并更换它" in answer
    assert "1 个带占位符的调用没有执行" in answer
    assert secret not in answer


def test_a_task_that_fails_tells_of_the_credential_too(
    live: LivePerlica, model: ScriptedModel, napcat: NapCatStandIn
) -> None:
    model.add(HttpError(status=400))

    asked = napcat.say(MEMBER, f"password={secret_of(marker())}", mention=True)
    answer = napcat.wait_for_reply(lambda m: "【凭据】" in m.text, after=asked).text

    assert live.count("SELECT count(*) FROM tasks WHERE state = 'failed'") == 1
    assert f"换成了 {MARK}" in answer


def test_a_task_without_a_credential_says_nothing_of_any(
    live: LivePerlica, model: ScriptedModel, napcat: NapCatStandIn
) -> None:
    model.add(Reply(text=f"占位符写作 {MARK}"))

    asked = napcat.say(MEMBER, f"占位符 {MARK} 是什么", mention=True)
    answer = napcat.wait_for_reply(is_final, after=asked).text

    assert "【凭据】" not in answer
    assert live.count("SELECT count(*) FROM tasks WHERE state = 'completed'") == 1


def test_the_history_is_searched_for_a_placeholder(
    live: LivePerlica, model: ScriptedModel, napcat: NapCatStandIn
) -> None:
    napcat.say(MEMBER, f"password={secret_of(marker())}")
    search = Call(tool="group_search_history", arguments={"query": MARK})
    model.add(Reply(calls=(search,)), Reply(text="找到了"))

    asked = napcat.say(MEMBER, "谁发过密码？", mention=True)
    napcat.wait_for_reply(is_final, after=asked)

    assert f"password={MARK}" in results(model)[0]
    assert live.count("SELECT count(*) FROM audit_events WHERE kind = 'call.refused'") == 0


def test_a_command_whose_parameters_were_redacted_does_not_run_after_a_restart(
    make_live: MakeLive, model: ScriptedModel, napcat: NapCatStandIn
) -> None:
    live = make_live(model.base_url)
    secret = "gh" + "p_" + marker() * 2 + "Aa1Bb2"
    model.add(Reply(calls=(create(), delete(), run("sh", "-c", f"echo token={secret} > /f"))))
    model.add(*[Reply(text="没有删")] * 2)
    asked = napcat.say(MEMBER, "删掉 main，再写文件", mention=True)
    question = napcat.wait_for_reply(lambda m: bool(APPROVE.search(m.text)), after=asked)
    ticket = APPROVE.search(question.text)
    assert ticket is not None

    live.stop()
    live.start()
    napcat.wait_for_connection()
    napcat.say(OWNER, f".deny {ticket[1]}")
    napcat.wait_for_reply(is_final, after=question)

    assert "its parameters held a credential and were not kept" in results(model)[2]
    assert live.count(COMMANDS) == 0
