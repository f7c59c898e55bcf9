"""The unattended demo: the main job, step by step, each judged by what really happened.

`make demo SCRIPT=1` runs it; the exit code is 0 only if every step held.
"""

import re
import secrets
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path

from perlica.app.demo.processes import DemoFailed
from perlica.app.demo.stage import Stage
from perlica.app.layout import database_path
from perlica.demo.napcat import Message, NothingCame
from perlica.domain.clock import monotonic_s
from perlica.domain.operation import OperationState
from perlica.stores.database import Database
from perlica.stores.operations import OperationStore
from perlica.stores.tasks import TaskStore

_REPLY_WITHIN_S = 30.0
_QUIET_S = 2.0
_APPROVE = re.compile(r"\.approve\s+(\S+)\s+(\d{6})")
_SETTLED = frozenset({OperationState.succeeded})


@dataclass(slots=True)
class Script:
    """Plays members of the demo group and looks at replies, tables and raw files."""

    stage: Stage
    say: Callable[[str], None]
    _marker: str = field(default_factory=lambda: secrets.token_hex(6))
    _owner: int = 0
    _member: int = 0

    def run(self) -> None:
        """All steps in order. Raises: DemoFailed at the first that does not hold."""
        group = self.stage.napcat.kernel.account.groups[0]
        self._owner = next(m.user_id for m in group.members if m.standing == "owner")
        self._member = next(m.user_id for m in group.members if m.standing == "member")
        steps: tuple[tuple[str, Callable[[], None]], ...] = (
            ("a command's true output comes back", self._run_command),
            ("a file survives kill -9 of perlica and sandboxd", self._survive_crash),
            ("the same message again does nothing", self._deliver_twice),
            ("another group leaves no trace", self._speak_elsewhere),
            ("a delete asks, is approved once, and never again", self._delete),
        )
        for title, step in steps:
            began_s = monotonic_s()
            try:
                step()
            except NothingCame as error:
                raise DemoFailed(f"{title}: {error}") from error
            self.say(f"ok   {title} ({monotonic_s() - began_s:.1f} s)")

    # --- steps ------------------------------------------------------------------------------

    def _run_command(self) -> None:
        answer = self._ask(f"运行 `echo {self._marker} | rev`")
        _require(self._marker[::-1] in answer.text, "the reply does not hold the true output")
        _require(
            any(o.action == "sandbox.exec" and o.state in _SETTLED for o in self._operations()),
            "no executed operation stands behind the reply",
        )

    def _survive_crash(self) -> None:
        self._ask(f"运行 `echo kept-{self._marker} > /root/marker`")
        self.stage.perlica.kill()
        if self.stage.sandboxd is not None:
            self.stage.sandboxd.kill()
        self.stage.start_sandboxd_again()
        self.stage.start_perlica()
        answer = self._ask("运行 `cat /root/marker`")
        _require(f"kept-{self._marker}" in answer.text, "the marker file is gone after the crash")

    def _deliver_twice(self) -> None:
        asked = self._speak("运行 `date +%s%N`")
        self._final_after(asked)
        before = (len(self.stage.napcat.sent), len(self._tasks()))
        self.stage.napcat.redeliver(asked)
        time.sleep(_QUIET_S)
        after = (len(self.stage.napcat.sent), len(self._tasks()))
        _require(before == after, "the message that was delivered again had an effect")

    def _speak_elsewhere(self) -> None:
        other = self.stage.napcat.kernel.account.groups[1]
        secret = f"elsewhere-{self._marker}"
        sent = len(self.stage.napcat.sent)
        self.stage.napcat.say(
            self._owner, f"运行 `echo {secret}`", group=other.group_id, mention=True
        )
        self._ask("列出沙箱")  # a later message of our group has passed the same way
        _require(len(self.stage.napcat.sent) == sent + 1, "the other group was answered")
        found = [path.name for path in self._raw_files() if secret.encode() in path.read_bytes()]
        _require(not found, f"text of another group stands in {', '.join(found)}")
        number = str(other.group_id).encode()
        found = [path.name for path in self._raw_files() if number in path.read_bytes()]
        _require(not found, f"another group's number stands in {', '.join(found)}")

    def _delete(self) -> None:
        napcat = self.stage.napcat
        asked = self._speak("删除沙箱 main")
        question = napcat.wait_for_reply(
            lambda m: bool(_APPROVE.search(m.text)), _REPLY_WITHIN_S, after=asked
        )
        match = _APPROVE.search(question.text)
        if match is None:
            raise DemoFailed("the approval message holds no command")
        command = match.group(0)
        refused = napcat.say(self._member, command)
        napcat.wait_for_reply(lambda _m: True, _REPLY_WITHIN_S, after=refused)
        _require(not self._deletions(), "somebody who is no Owner could approve")
        napcat.say(self._owner, command)
        self._final_after(question)
        _require(len(self._deletions()) == 1, "the approved deletion did not run exactly once")
        again = napcat.say(self._owner, command)
        napcat.wait_for_reply(lambda _m: True, _REPLY_WITHIN_S, after=again)
        _require(len(self._deletions()) == 1, "the same approval ran again")

    # --- what is looked at ------------------------------------------------------------------

    def _speak(self, text: str) -> Message:
        return self.stage.napcat.say(self._owner, text, mention=True)

    def _ask(self, text: str) -> Message:
        return self._final_after(self._speak(text))

    def _final_after(self, asked: Message) -> Message:
        self.stage.perlica.check_alive()
        return self.stage.napcat.wait_for_reply(
            lambda m: "【Perlica 回答" in m.text or "任务 T-" in m.text,
            _REPLY_WITHIN_S,
            after=asked,
        )

    def _database(self) -> Database:
        return Database.open(database_path(self.stage.paths.state), read_only=True)

    def _tasks(self) -> tuple[str, ...]:
        with self._database() as database:
            return tuple(task.id for task in TaskStore(database).list_tasks(1000))

    def _operations(self) -> list["_Done"]:
        with self._database() as database:
            store = OperationStore(database)
            return [
                _Done(action=operation.action, state=operation.state)
                for task in TaskStore(database).list_tasks(1000)
                for operation in store.list_for_task(task.id)
            ]

    def _deletions(self) -> list["_Done"]:
        return [o for o in self._operations() if o.action == "sandbox.delete"]

    def _raw_files(self) -> list[Path]:
        paths = self.stage.paths
        logs = [paths.log, paths.sandboxd_log, paths.root / "perlica.out"]
        return [p for p in [*paths.state.rglob("*"), *logs] if p.is_file()]


@dataclass(frozen=True, slots=True, kw_only=True)
class _Done:
    action: str
    state: OperationState


def _require(holds: bool, otherwise: str) -> None:  # noqa: FBT001 - reads as a sentence
    if not holds:
        raise DemoFailed(otherwise)
