"""Getting a High action to the point where it asks: one sandbox, one delete."""

import re

from perlica.demo.model import Call, Reply, ScriptedModel
from perlica.demo.napcat import Message, NapCatStandIn
from tests.behaviour.live import OWNER

APPROVE = re.compile(r"\.approve\s+(\S+)\s+(\d{6})")


def create(name: str = "main") -> Call:
    """A call that creates a sandbox."""
    return Call(tool="sandbox_manage", arguments={"action": "create", "name": name})


def delete(name: str = "main") -> Call:
    """A call that deletes one: High."""
    return Call(tool="sandbox_manage", arguments={"action": "delete", "name": name})


def run(*argv: str, sandbox: str = "main") -> Call:
    """A call that runs a command."""
    return Call(tool="sandbox_exec", arguments={"sandbox": sandbox, "argv": list(argv)})


def ask_for_delete(napcat: NapCatStandIn, model: ScriptedModel) -> tuple[Message, str, str]:
    """Let the model create `main` and want to delete it; the question, its ticket and its code."""
    model.add(Reply(calls=(create(), delete())))
    asked = napcat.say(OWNER, "把 main 删掉", mention=True)
    question = napcat.wait_for_reply(lambda m: bool(APPROVE.search(m.text)), after=asked)
    match = APPROVE.search(question.text)
    assert match is not None
    return question, match.group(1), match.group(2)
