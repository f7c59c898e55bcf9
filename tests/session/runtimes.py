"""A runtime made by hand, which counts what is asked of it."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

from perlica.conversation import Conversation, ToolSpec
from perlica.domain.cancel import CancelToken
from perlica.domain.ids import TaskId
from perlica.domain.task import EndReason
from perlica.runtimes.contract import AgentTurn

ANSWER = AgentTurn(text="好", end=EndReason.answered)
SECRET = "hunter2-Zq8Lw0vXk3"


@dataclass
class Runtime:
    """Counts what is asked of it; `think` gives each turn, `let_go` happens at a close."""

    think: Callable[[CancelToken], AgentTurn] = lambda _: ANSWER
    let_go: Callable[[], None] = lambda: None
    begin: Callable[[CancelToken], None] = lambda _: None
    opened: list[TaskId] = field(default_factory=list)
    closed: list[TaskId] = field(default_factory=list)

    def open(self, task: TaskId, cancel: CancelToken) -> "Session":
        self.begin(cancel)
        self.opened.append(task)
        return Session(self, task)


@dataclass
class Session:
    runtime: Runtime
    task: TaskId

    def turn(self, _: Conversation, _tools: Sequence[ToolSpec], cancel: CancelToken) -> AgentTurn:
        return self.runtime.think(cancel)

    def close(self) -> None:
        self.runtime.closed.append(self.task)
        self.runtime.let_go()
