"""A tool family: everything that one kind of tool brings, in one place.

`perlica.app.families` lists those of the service; the registry, the prompt, the orders and recovery
read them from there.
"""

from collections.abc import Callable, Collection
from dataclasses import dataclass
from typing import Protocol

from perlica.domain.actions import ActionSpec
from perlica.domain.ids import TaskId
from perlica.gateway.core.orders import OrderSpec
from perlica.gateway.core.tool import Tool
from perlica.gateway.core.work import Executor
from perlica.stores.database import Database
from perlica.stores.sessions import ToolCall


class Review(Protocol):
    """What a family asks the model once a run of its work is over, before the task completes."""

    def ends_run(self, tools: Collection[str]) -> bool:
        """Whether a turn that calls these tools, none for an answer, ends a run of its work."""
        ...

    def question(
        self, database: Database, task: TaskId, *, since_seq: int, is_answered: bool
    ) -> str:
        """The question about what was done after turn `since_seq`; "" when there is none.

        It comes behind the answer, or amid the task: then the model is to go on.
        """
        ...

    def is_reviewing(self, call: ToolCall) -> bool:
        """Whether a call only answers the question, and is no further work."""
        ...


@dataclass(frozen=True, slots=True, kw_only=True)
class ToolFamily:
    """One family, made for one configuration: its tools hold their settings.

    `actions` are what its tools and orders plan, in words.
    `guidance` are rules that the prompt gives about it; `orders` are the actions that Owners'
    commands have approved; `make_executor` gives what carries its queued work out.
    """

    name: str
    tools: tuple[Tool, ...] = ()
    actions: tuple[ActionSpec, ...] = ()
    guidance: tuple[str, ...] = ()
    orders: tuple[OrderSpec, ...] = ()
    make_executor: Callable[[Database], Executor] | None = None
    review: Review | None = None
