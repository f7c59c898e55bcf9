"""A model that hangs blocks nobody: `.status` answers and `.cancel` takes effect.

How soon is measured by `benchmarks/cancel.py`.
"""

import pytest

from perlica.demo.model import Drip, HeadersThenSilent, Reply, ScriptedModel, Silent
from perlica.demo.napcat import NapCatStandIn
from tests.behaviour.live import MEMBER, OWNER, PATIENCE_S, LivePerlica, is_final, wait_until

HANGS = [Silent(), HeadersThenSilent(), Drip(), Drip(what="byte")]


@pytest.mark.evidence(14)
@pytest.mark.parametrize("hang", HANGS, ids=lambda hang: repr(hang)[:24])
def test_status_answers_and_cancel_closes_the_socket_while_a_model_hangs(
    live: LivePerlica,
    model: ScriptedModel,
    napcat: NapCatStandIn,
    hang: Silent | HeadersThenSilent | Drip,
) -> None:
    model.add(hang, Reply(text="下一个任务也行"))
    napcat.say(MEMBER, "想一想", mention=True)
    model.wait_for_request()

    asked = napcat.say(OWNER, ".status")
    status = napcat.wait_for_reply(within_s=PATIENCE_S, after=asked)
    napcat.say(MEMBER, ".cancel")
    model.wait_for_disconnect(PATIENCE_S)
    wait_until(lambda: live.count("SELECT count(*) FROM tasks WHERE state = 'cancelled'") == 1)

    assert "T-" in status.text
    following = napcat.say(MEMBER, "再来", mention=True)
    napcat.wait_for_reply(lambda m: "下一个任务也行" in m.text, after=following)


@pytest.mark.evidence(14)
def test_a_running_command_ends_with_the_cancel(
    live: LivePerlica, model: ScriptedModel, napcat: NapCatStandIn
) -> None:
    from tests.behaviour.asking import create, run

    model.add(Reply(calls=(create(), run("sleep", "1000"))))
    napcat.say(MEMBER, "睡", mention=True)
    started = "SELECT count(*) FROM operations WHERE action='sandbox.exec' AND state='started'"
    wait_until(lambda: live.count(started) == 1)

    napcat.say(MEMBER, ".cancel")

    cancelled = "SELECT count(*) FROM operations WHERE state = 'cancelled'"
    wait_until(lambda: live.count(cancelled) == 1)
    assert napcat.wait_for_reply(is_final).text
