"""A command that takes too long and a model that fails: said as it was, and nothing done twice."""

from pathlib import Path

import pytest

from perlica.demo.model import Call, CutOff, HttpError, Reply, ScriptedModel
from perlica.demo.napcat import NapCatStandIn
from tests.behaviour.asking import create, run
from tests.behaviour.live import MEMBER, LivePerlica, is_final, live_config
from tests.behaviour.test_levels import results

COMMANDS = "SELECT count(*) FROM operations WHERE action = 'sandbox.exec'"


@pytest.mark.evidence(14)
def test_a_command_that_exceeds_its_time_is_stopped_and_not_repeated(
    live: LivePerlica, model: ScriptedModel, napcat: NapCatStandIn
) -> None:
    arguments = {"sandbox": "main", "argv": ["sleep", "600"], "timeout_s": 1}
    call = Call(tool="sandbox_exec", arguments=arguments)
    model.add(Reply(calls=(create(), call)), *[Reply(text="太慢了")] * 2)

    asked = napcat.say(MEMBER, "睡一觉", mention=True)
    answer = napcat.wait_for_reply(is_final, after=asked)

    assert "time limit reached" in results(model)[1]
    assert "超时中止" in answer.text
    assert live.count(COMMANDS) == 1


@pytest.mark.evidence(14)
@pytest.mark.parametrize(
    "failure",
    [
        HttpError(status=500),
        HttpError(status=503, retry_after_s=0),
        CutOff(reply=Reply(calls=(run("false"),)), after_chunks=1),
    ],
    ids=["server error", "busy", "cut off"],
)
def test_a_model_turn_that_failed_is_asked_for_again_and_no_call_is_done_twice(
    tmp_path: Path,
    model: ScriptedModel,
    napcat: NapCatStandIn,
    failure: HttpError | CutOff,
) -> None:
    config = live_config(tmp_path, napcat, model.base_url)
    patient = config.model.model_copy(update={"max_tries": 3})
    live = LivePerlica(config=config.model_copy(update={"model": patient})).start()
    try:
        napcat.wait_for_connection()
        model.add(Reply(calls=(create(), run("echo", "x"))), failure, *[Reply(text="好了")] * 2)

        asked = napcat.say(MEMBER, "做", mention=True)
        answer = napcat.wait_for_reply(is_final, after=asked)

        assert "好了" in answer.text
        assert live.count(COMMANDS) == 1
        assert live.count("SELECT count(*) FROM tasks") == 1
    finally:
        live.stop()


@pytest.mark.evidence(14)
def test_a_model_that_keeps_failing_ends_the_task_which_says_what_was_done(
    live: LivePerlica, model: ScriptedModel, napcat: NapCatStandIn
) -> None:
    model.add(Reply(calls=(create(), run("echo", "x"))), *[HttpError(status=500)] * 5)

    asked = napcat.say(MEMBER, "做", mention=True)
    answer = napcat.wait_for_reply(is_final, after=asked)

    assert "未完成" in answer.text
    assert "echo x" in answer.text
    assert live.count("SELECT count(*) FROM tasks WHERE end_reason = 'model_server_error'") == 1
