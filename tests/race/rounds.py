"""Rounds of one question each: a task asks for a High action, several members answer at once.

The action is the stop of a sandbox, which a policy file of these tests makes High: it can be asked
for as often as one likes.
"""

import random
import re
import threading
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

from perlica.demo.model import Call, Reply, ScriptedModel
from perlica.demo.napcat import Message, NapCatStandIn
from tests.behaviour.conftest import MakeLive
from tests.behaviour.live import MEMBER, PATIENCE_S, LivePerlica, is_final

_QUESTION = re.compile(r"\.approve\s+(\S+)\s+(\d{6})")
_POLICY = """
version = "race"
[low]
"sandbox.create" = ["sandbox"]
[high]
"sandbox.stop" = ["sandbox"]
"""


@dataclass(frozen=True, slots=True, kw_only=True)
class Question:
    """What was asked, and how it may be answered."""

    message: Message
    ticket: str
    code: str

    @property
    def approve(self) -> str:
        """The command that allows it."""
        return f".approve {self.ticket} {self.code}"

    @property
    def deny(self) -> str:
        """The command that refuses it."""
        return f".deny {self.ticket}"


@dataclass(frozen=True, slots=True, kw_only=True)
class Outcome:
    """What came of a ticket, from the tables."""

    state: str
    verdicts: tuple[str, ...]
    executions: int


class Rounds:
    """One service that asks again and again."""

    def __init__(
        self, directory: Path, make_live: MakeLive, model: ScriptedModel, napcat: NapCatStandIn
    ) -> None:
        policy = directory / "policy.toml"
        policy.write_text(_POLICY)
        self.live: LivePerlica = make_live(model.base_url, extra=f'[policy]\nfile = "{policy}"\n')
        self._model = model
        self._napcat = napcat
        self.do(Call(tool="sandbox_manage", arguments={"action": "create", "name": "main"}))

    def do(self, call: Call) -> None:
        """One task with one call that needs nobody."""
        self._model.add(Reply(calls=(call,)), Reply(text="好"))
        asked = self._napcat.say(MEMBER, "准备", mention=True)
        self._napcat.wait_for_reply(is_final, PATIENCE_S, after=asked)

    def ask(self) -> Question:
        """A new task that waits for an Owner."""
        stop = Call(tool="sandbox_manage", arguments={"action": "stop", "name": "main"})
        self._model.add(Reply(calls=(stop,)), Reply(text="好"))
        return self.wait_for_question(self._napcat.say(MEMBER, "停掉", mention=True))

    def wait_for_question(self, after: Message) -> Question:
        """The next question that goes to the group."""
        message = self._napcat.wait_for_reply(
            lambda m: bool(_QUESTION.search(m.text)), PATIENCE_S, after=after
        )
        found = _QUESTION.search(message.text)
        assert found is not None
        return Question(message=message, ticket=found.group(1), code=found.group(2))

    def finish(self, question: Question) -> Outcome:
        """Wait for the end of the task, then look."""
        self._napcat.wait_for_reply(is_final, PATIENCE_S, after=question.message)
        with self.live.database() as database:
            ticket = database.query("SELECT state FROM approvals WHERE id = ?", (question.ticket,))
            verdicts = database.query(
                "SELECT json_extract(detail, '$.verdict') AS verdict FROM audit_events"
                " WHERE kind = 'ticket.decision' AND ticket_id = ? ORDER BY id",
                (question.ticket,),
            )
            done = database.query(
                "SELECT state FROM operations WHERE ticket_id = ?", (question.ticket,)
            )
        assert all(row["state"] == "succeeded" for row in done)
        return Outcome(
            state=ticket[0]["state"],
            verdicts=tuple(row["verdict"] for row in verdicts),
            executions=len(done),
        )


def at_once(deeds: Sequence[Callable[[], object]]) -> None:
    """Do all of it in the same moment, each in a thread of its own, in any order."""
    barrier = threading.Barrier(len(deeds))

    def do(deed: Callable[[], object]) -> None:
        barrier.wait()
        deed()

    shuffled = random.sample(deeds, len(deeds))
    threads = [threading.Thread(target=do, args=(deed,)) for deed in shuffled]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
