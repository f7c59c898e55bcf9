"""Risky plans that no Owner is asked about, because asking would show or keep what must not be."""

from pathlib import Path

import pytest

from perlica.demo.model import Call, Reply, ScriptedModel
from perlica.demo.napcat import NapCatStandIn
from tests.behaviour.asking import create, run
from tests.behaviour.conftest import MakeLive
from tests.behaviour.live import MEMBER, LivePerlica, is_final, marker
from tests.behaviour.test_levels import results

NARROW = """version = "commands-ask"
[low]
"sandbox.create" = ["sandbox"]
[high]
"sandbox.exec" = ["sandbox"]
"sandbox.write" = ["sandbox"]
"""
TICKETS = "SELECT count(*) FROM approvals"
HIGH = "SELECT count(*) FROM operations WHERE level = 'high'"


@pytest.fixture
def careful(tmp_path: Path, make_live: MakeLive, model: ScriptedModel) -> LivePerlica:
    """A service in which every command waits for an Owner."""
    policy = tmp_path / "policy.toml"
    policy.write_text(NARROW)
    return make_live(model.base_url, extra=f'[policy]\nfile = "{policy}"\n')


def _ask_for(call: Call, model: ScriptedModel, napcat: NapCatStandIn) -> str:
    """A task with this call; what the model was told of it."""
    model.add(Reply(calls=(create(), call)), Reply(text="没有做成"))
    asked = napcat.say(MEMBER, "做", mention=True)
    napcat.wait_for_reply(is_final, after=asked)
    return results(model)[1]


@pytest.mark.evidence(5)
@pytest.mark.evidence(9)
def test_a_risky_plan_that_holds_a_credential_is_refused_and_kept_nowhere(
    careful: LivePerlica, model: ScriptedModel, napcat: NapCatStandIn
) -> None:
    secret = "gh" + "p_" + marker() * 2 + "Aa1Bb2"

    told = _ask_for(run("git", "clone", f"https://x:{secret}@example.org"), model, napcat)

    assert "not executed" in told
    assert "credential" in told
    assert careful.count(TICKETS) == careful.count(HIGH) == 0
    assert secret.encode() not in careful.raw_files()
    assert not any(secret in message.text for message in napcat.sent)


@pytest.mark.evidence(9)
def test_a_risky_plan_that_cannot_be_shown_whole_is_refused(
    careful: LivePerlica, model: ScriptedModel, napcat: NapCatStandIn
) -> None:
    content = "\n".join(f"line {number}" for number in range(4_000))
    arguments = {"sandbox": "main", "path": "/root/long", "content": content}

    told = _ask_for(Call(tool="sandbox_write", arguments=arguments), model, napcat)

    assert "not executed" in told
    assert careful.count(TICKETS) == careful.count(HIGH) == 0
    assert not any(".approve" in message.text for message in napcat.sent)


@pytest.mark.evidence(9)
def test_a_risky_plan_that_can_be_shown_is_shown_with_every_parameter(
    careful: LivePerlica, model: ScriptedModel, napcat: NapCatStandIn
) -> None:
    model.add(Reply(calls=(create(), run("sh", "-c", "rm\t-rf \u202e/tmp/x"))))
    napcat.say(MEMBER, "做", mention=True)

    question = napcat.wait_for_reply(lambda m: ".approve" in m.text)

    assert "-rf" in question.text
    assert "/tmp/x" in question.text
    assert "\u202e" not in question.text
    assert "\t" not in question.text
    assert careful.count(TICKETS) == 1
