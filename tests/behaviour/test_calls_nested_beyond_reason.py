"""A model that nests its arguments without an end: the call never runs, the task goes on."""

import pytest

from perlica.demo.model import Call, Reply, ScriptedModel
from perlica.demo.napcat import NapCatStandIn
from tests.behaviour.live import OWNER, LivePerlica, is_final

TOO_DEEP = {
    "lists without an end": "[" * 3_000,
    "objects that a reader can just manage": '{"action":' * 960 + "1" + "}" * 960,
}


@pytest.mark.parametrize("name", TOO_DEEP)
def test_a_call_that_is_nested_beyond_reason_costs_neither_the_task_nor_the_service(
    live: LivePerlica, model: ScriptedModel, napcat: NapCatStandIn, name: str
) -> None:
    model.add(
        Reply(calls=(Call(tool="sandbox_manage", arguments=TOO_DEEP[name]),)),
        Reply(text="好了"),
    )

    asked = napcat.say(OWNER, "看看沙箱", mention=True)

    final = napcat.wait_for_reply(is_final, after=asked)
    assert "好了" in final.text
    assert live.count("SELECT count(*) AS n FROM operations") == 0
    assert live.exit_codes == []
