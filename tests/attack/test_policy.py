"""What the policy does not name is blocked, whoever asks; nothing asks an Owner about it."""

from pathlib import Path

import pytest

from perlica.demo.model import Reply, ScriptedModel
from perlica.demo.napcat import NapCatStandIn
from perlica.domain.plan import Level
from perlica.gateway.core.policy_file import read_policy
from tests.behaviour.asking import create, run
from tests.behaviour.conftest import MakeLive
from tests.behaviour.live import MEMBER, is_final

STRICT = """
version = "strict-1"
[medium]
"sandbox.create" = ["sandbox"]
"""


@pytest.mark.evidence(8)
@pytest.mark.parametrize(
    ("action", "scope"),
    [("sandbox.exec", "node"), ("host.shell", "node"), ("", ""), ("sandbox.delete", "group")],
)
def test_an_unknown_action_or_scope_is_blocked(action: str, scope: str) -> None:
    assert read_policy(None).judge(action, scope) is Level.block


@pytest.mark.evidence(8)
def test_a_call_that_the_policy_does_not_name_is_refused_and_never_asked_about(
    tmp_path: Path, make_live: MakeLive, model: ScriptedModel, napcat: NapCatStandIn
) -> None:
    policy = tmp_path / "policy.toml"
    policy.write_text(STRICT)
    live = make_live(model.base_url, f'[policy]\nfile = "{policy}"\n')
    model.add(Reply(calls=(create(), run("echo", "x"))), *[Reply(text="不行")] * 2)

    asked = napcat.say(MEMBER, "跑一下", mention=True)
    napcat.wait_for_reply(is_final, after=asked)

    told = [m["content"] for m in model.requests[-1]["messages"] if m["role"] == "tool"]
    assert "blocked by policy" in told[1]
    assert live.count("SELECT count(*) FROM operations WHERE action = 'sandbox.exec'") == 0
    assert live.count("SELECT count(*) FROM approvals") == 0
