"""A sandbox works with what it is given, and a credential that it shows reaches nobody."""

import json

import pytest

from perlica.demo.model import Call, Reply, ScriptedModel
from perlica.demo.napcat import NapCatStandIn
from tests.behaviour.asking import create, run
from tests.behaviour.live import MEMBER, LivePerlica, is_final, marker
from tests.behaviour.test_levels import results


@pytest.mark.evidence(5)
@pytest.mark.evidence(7)
def test_a_credential_in_a_file_is_written_as_given_and_comes_back_to_nobody(
    live: LivePerlica, model: ScriptedModel, napcat: NapCatStandIn
) -> None:
    secret = "gh" + "p_" + marker() * 2 + "Aa1Bb2"
    content = f"token = {secret}\n"
    written = {"sandbox": "main", "path": "/root/conf", "content": content}
    model.add(Reply(calls=(create(), Call(tool="sandbox_write", arguments=written))))
    model.add(Reply(calls=(run("cat", "/root/conf"),)), *[Reply(text="看过了")] * 2)

    asked = napcat.say(MEMBER, "写下来再看", mention=True)
    answer = napcat.wait_for_reply(is_final, after=asked)

    ran = next(text for text in results(model) if "exit code" in text)
    with live.database() as database:
        (kept,) = database.query(
            "SELECT outcome FROM operations WHERE action = 'sandbox.exec' AND state = 'succeeded'"
        )
    assert json.loads(kept["outcome"])["stdout_bytes"] == len(content)
    assert "token = ⟦" in ran
    assert secret not in json.dumps(model.requests, ensure_ascii=False)
    assert secret.encode() not in live.raw_files()
    assert not any(secret in message.text for message in napcat.sent)
    assert answer.text
