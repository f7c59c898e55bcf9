"""A runtime from outside: it plays a script and writes down how it was used."""

import threading
from collections import deque
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import TypeAlias

from perlica.conversation import Conversation, ToolSpec
from perlica.demo.napcat import Message, NapCatStandIn
from perlica.domain.cancel import CancelToken
from perlica.domain.ids import TaskId
from perlica.domain.task import EndReason
from perlica.runtimes.contract import OpenTask, RawCall, RawTurn
from tests.behaviour.live import OWNER, PATIENCE_S, LivePerlica, is_final, wait_until

LOOK = RawCall(wire_id="", tool="group_recent_context", arguments_json='{"limit": 5}')
CREATE = RawCall(
    wire_id="", tool="sandbox_manage", arguments_json='{"action": "create", "name": "main"}'
)
DELETE = RawCall(
    wire_id="", tool="sandbox_manage", arguments_json='{"action": "delete", "name": "main"}'
)
Part: TypeAlias = RawTurn | BaseException | Callable[[CancelToken], RawTurn]


def say(text: str = "", *calls: RawCall, opaque: bytes | None = None) -> RawTurn:
    """A turn that costs little."""
    return RawTurn(text=text, calls=calls, input_tokens=1, output_tokens=1, opaque=opaque)


def wait_for_cancel(cancel: CancelToken) -> RawTurn:
    """Think until somebody cancels, as a good runtime does."""
    cancel.wait(PATIENCE_S)
    cancel.check()
    raise AssertionError("nobody cancelled")


@dataclass
class OutsideRuntime:
    """Fails to open with each of `openings` first; `closing` is called by each `close`."""

    script: deque[Part] = field(default_factory=deque)
    openings: deque[BaseException] = field(default_factory=deque)
    closing: Callable[[], None] = lambda: None
    opened: list[TaskId] = field(default_factory=list)
    closed: list[TaskId] = field(default_factory=list)
    turns: list[tuple[TaskId, Conversation]] = field(default_factory=list)
    thinks: threading.Event = field(default_factory=threading.Event)

    def add(self, *parts: Part) -> None:
        """Lengthen the script."""
        self.script.extend(parts)

    def open(self, task: OpenTask, cancel: CancelToken) -> "OutsideSession":
        """A session, or the next failure."""
        self.opened.append(task.id)
        if self.openings:
            raise self.openings.popleft()
        return OutsideSession(self, task.id)


@dataclass
class OutsideSession:
    """One task's part of the script."""

    runtime: OutsideRuntime
    task: TaskId
    is_closed: bool = False

    def turn(
        self, conversation: Conversation, tools: Sequence[ToolSpec], cancel: CancelToken
    ) -> RawTurn:
        """The script's next part."""
        runtime = self.runtime
        assert not self.is_closed
        runtime.turns.append((self.task, conversation))
        runtime.thinks.set()
        part = runtime.script.popleft()
        if isinstance(part, BaseException):
            raise part
        return part if isinstance(part, RawTurn) else part(cancel)

    def close(self) -> None:
        """Write it down, then do what the test wants."""
        assert not self.is_closed
        self.is_closed = True
        self.runtime.closed.append(self.task)
        self.runtime.closing()


def ask(napcat: NapCatStandIn, text: str = "做") -> Message:
    return napcat.say(OWNER, text, mention=True)


def final(napcat: NapCatStandIn, asked: Message) -> str:
    return napcat.wait_for_reply(is_final, PATIENCE_S, after=asked).text


def assert_ended(service: LivePerlica, runtime: OutsideRuntime, reason: EndReason) -> None:
    """The task has ended for this reason, and its only session was closed once."""
    wait_until(lambda: bool(runtime.closed), what="no session was closed")
    ended = f"SELECT count(*) FROM tasks WHERE end_reason = '{reason.value}'"
    assert service.count(ended) == 1
    assert len(runtime.opened) == 1
    assert runtime.closed == runtime.opened
    assert not service.alarm.faults


def assert_goes_on(napcat: NapCatStandIn, runtime: OutsideRuntime) -> None:
    """The next task is answered, in a session of its own."""
    known = set(runtime.opened)
    runtime.add(say("die nächste"))
    asked = ask(napcat, "weiter")
    napcat.wait_for_reply(lambda m: "die nächste" in m.text, PATIENCE_S, after=asked)
    assert runtime.turns[-1][0] == runtime.opened[-1]
    assert runtime.opened[-1] not in known
