"""What the tests of this folder do again and again: tasks, orders of Owners, troubled nodes."""

import re
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path

from actors.base import tell_safely
from actors.messages import Tick
from perlica.demo.model import Call, Reply, ScriptedModel
from perlica.demo.napcat import Message, NapCatStandIn
from perlica.domain.cancel import CancelToken
from perlica.domain.errors import PerlicaError
from perlica.domain.ids import OperationId, SandboxName
from perlica.domain.sandbox import (
    Absence,
    Action,
    ActionOutcome,
    BackendSandbox,
    NodeSurvey,
    SandboxSpec,
)
from perlica.sandboxes.memory import MemoryBackend
from tests.behaviour.live import MEMBER, OWNER, PATIENCE_S, LivePerlica, config_text, is_final

DAY_S = 86_400
APPROVE = re.compile(r"\.approve (\S+) (\d{6})")
OLD, NEW, THIRD = (f"sha256:{digit * 64}" for digit in "012")


class TroubledBackend(MemoryBackend):
    """In memory, with calls that fail on demand: `troubles` by the method's name."""

    def __init__(self, node: str = "test-node", identity: str = "first") -> None:
        super().__init__(node=node, identity=identity, image_digests=(OLD, NEW, THIRD))
        self.troubles: dict[str, PerlicaError] = {}
        self.met: list[str] = []

    def _meet(self, call: str) -> None:
        self.met.append(call)
        if call in self.troubles:
            raise self.troubles[call]

    def create(
        self, operation: OperationId, spec: SandboxSpec, image_digest: str
    ) -> BackendSandbox:
        self._meet("create")
        return super().create(operation, spec, image_digest)

    def execute(
        self,
        operation: OperationId,
        *,
        name: SandboxName,
        instance: str,
        action: Action,
        cancel: CancelToken,
    ) -> ActionOutcome:
        self._meet("execute")
        return super().execute(
            operation, name=name, instance=instance, action=action, cancel=cancel
        )

    def delete(self, operation: OperationId, name: SandboxName, instance: str) -> Absence:
        self._meet("delete")
        return super().delete(operation, name, instance)

    def survey(self) -> NodeSurvey:
        self._meet("survey")
        return super().survey()

    def fall_silent(self, error: PerlicaError) -> None:
        """The node answers nothing any more."""
        self.troubles = dict.fromkeys(("create", "execute", "delete", "survey"), error)

    def recover(self) -> None:
        """The node answers again."""
        self.troubles = {}


@dataclass(slots=True)
class Stage:
    """One service with the means to speak to it and to look at its rows."""

    live: LivePerlica
    napcat: NapCatStandIn
    model: ScriptedModel
    backend: TroubledBackend
    others: dict[str, TroubledBackend] = field(default_factory=dict)

    def do(self, *calls: Call) -> list[str]:
        """Let the model make these calls in one task; their results."""
        self.model.add(Reply(calls=calls))
        asked = self.napcat.say(MEMBER, "做一件事", mention=True)
        self.wait_for_reply(is_final, after=asked)
        results = [m for m in self.model.requests[-1]["messages"] if m["role"] == "tool"]
        return [str(message["content"]) for message in results[-len(calls) :]]

    def make(self, *names: str) -> None:
        """Sandboxes of these names, ready for use."""
        results = self.do(*(manage("create", name) for name in names))
        assert all("is ready" in result for result in results), results

    def order(self, line: str, *, user: int = OWNER) -> Message:
        """An Owner's command; its answer, which mentions him."""
        said = self.napcat.say(user, line)
        return self.wait_for_reply(lambda m: f"qq={user}" in m.raw, after=said)

    def approve(self, line: str) -> Message:
        """An order that needs an approval, approved; the message that asked for it."""
        said = self.napcat.say(OWNER, line)
        question = self.wait_for_reply(lambda m: bool(APPROVE.search(m.text)), after=said)
        self.decide(question)
        return question

    def decide(self, question: Message) -> None:
        """Approve what a message asks for."""
        match = APPROVE.search(question.text)
        assert match is not None
        self.napcat.say(OWNER, f".approve {match.group(1)} {match.group(2)}")

    def wait_for_reply(
        self, predicate: Callable[[Message], bool] = lambda _: True, after: Message | None = None
    ) -> Message:
        """As the stand-in's, with the reconciler's clock driven on."""
        found: list[Message] = []

        def look() -> bool:
            later = [m for m in self.napcat.sent if after is None or m.real_seq > after.real_seq]
            found.extend(m for m in later if predicate(m))
            return bool(found)

        self.wait(look, what=f"said so far: {[m.text for m in self.napcat.sent]}")
        return found[0]

    def wait(self, holds: Callable[[], bool], what: str = "") -> None:
        """Drive the clocks of reconciler and ledger until something holds, bounded."""
        deadline = time.monotonic() + PATIENCE_S
        while not holds():
            if time.monotonic() > deadline:
                raise AssertionError(f"did not happen: {what}")
            self.tick()
            time.sleep(0.02)

    def tick(self) -> None:
        """One second of the service's clock."""
        assert self.live.wires.reconciler is not None
        self.live.wires.reconciler.ask(Tick(), timeout=PATIENCE_S)
        tell_safely(self.live.wires.outbox, Tick())

    def column(self, sql: str) -> list[object]:
        """The first column of a query."""
        with self.live.database() as database:
            return [next(iter(row.values())) for row in database.query(sql)]

    def states(self) -> dict[object, object]:
        """The state of the newest sandbox of each name."""
        with self.live.database() as database:
            rows = database.query("SELECT name, state FROM sandboxes ORDER BY id")
        return {row["name"]: row["state"] for row in rows}


def manage(action: str, name: str = "", **more: str) -> Call:
    """A call of sandbox_manage."""
    return Call(tool="sandbox_manage", arguments={"action": action, "name": name, **more})


def exec_(*argv: str, sandbox: str = "main") -> Call:
    """A call of sandbox_exec."""
    return Call(tool="sandbox_exec", arguments={"sandbox": sandbox, "argv": list(argv)})


def settings_text(
    directory: Path,
    napcat: NapCatStandIn,
    model_url: str,
    *,
    sandbox: str = "",
    nodes: tuple[str, ...] = (),
) -> str:
    """The configuration of the behaviour tests with quick looks, and with further nodes."""
    text = config_text(directory, napcat, model_url)
    quick = f"look_every_s = 0.05\nloss_after_s = 0.5\nloss_looks = 5\n{sandbox}"
    if "expire_after_due_s" not in sandbox:
        quick += "expire_after_due_s = 0\n"
    further = "".join(
        f'[[sandbox.nodes]]\nname = "{name}"\nsocket = "{directory}/{name}.sock"\n'
        for name in nodes
    )
    return text.replace("[sandbox]\n", f"[sandbox]\n{quick}") + further
