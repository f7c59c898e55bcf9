"""Plans of invented tools and who asks for them, over a real database."""

import json
from collections.abc import Mapping
from typing import Any, ClassVar

from perlica.domain.ids import CallId, RowId, UserId, new_call_id
from perlica.domain.operation import OperationState
from perlica.domain.plan import ActionPlan, JsonValue, Level
from perlica.domain.policy import Policy
from perlica.domain.task import TaskState
from perlica.domain.texts import Language
from perlica.gateway.core.caller import Caller, CommandCaller, TaskCaller
from perlica.gateway.core.ceremony import Ceremony
from perlica.gateway.core.execution import Execution
from perlica.gateway.core.tickets import TicketIssuer
from perlica.gateway.core.tool import CallContext, Planned, ToolArguments
from perlica.gateway.core.work import Executors, ToolResult, Work
from perlica.gateway.known_actions import CATALOG
from perlica.protection import Channel, protect
from perlica.stores.database import Database
from perlica.stores.operations import Operation, OperationStore
from perlica.stores.sessions import NewCall, SessionStore
from tests.stores.rows import GROUP, OWNER, begin_task, move

CANARY = "password=Tr0ub4dor-3-Zq8Lw0vX"
DONE = ToolResult(text="done", source="test")
LEVELS = {("sandbox.delete", "sandbox"): Level.high, ("history.recent", "group"): Level.low}


def command(row: int = 1) -> CommandCaller:
    """An Owner's command."""
    return CommandCaller(message_row=RowId(row), user=OWNER, group_id=GROUP)


def call_of_a_task(db: Database) -> TaskCaller:
    """A call of a task that is running."""
    task = begin_task(db)
    task = move(db, task.id, TaskState.contextualizing, TaskState.running)
    call: CallId = new_call_id()
    with db.transaction():
        SessionStore(db).append_event(task.id, kind="assistant", body=protect("{}", Channel.MODEL))
        SessionStore(db).insert_calls(
            task.id,
            1,
            [
                NewCall(
                    id=call,
                    position=0,
                    provider_call_id=call,
                    tool="test",
                    arguments=protect("{}", Channel.TOOL_ARGUMENTS),
                    arguments_intact=True,
                )
            ],
        )
    return TaskCaller(task=task, call=call)


def plan_of(
    caller: Caller,
    work: Work,
    *,
    action: str = "history.recent",
    scope: str = "group",
    destination: str = "perlica",
    effect: Mapping[str, JsonValue] | None = None,
) -> Planned:
    """A plan of this kind of work."""
    plan = ActionPlan(
        action=action,
        origin=caller.origin,
        identity="test",
        target={"sandbox": "main"},
        scope=scope,
        effect=dict(effect or {}),
        destination=destination,
        expected="done",
        policy_version="1",
    )
    return Planned(plan=plan, work=work)


def execution_of(caller: Caller, work: Work, level: Level = Level.low, **more: Any) -> Execution:
    """The same, judged."""
    return Execution(planned=plan_of(caller, work, **more), caller=caller, level=level)


def ceremony_over(
    db: Database,
    executors: Executors | None = None,
    levels: Mapping[tuple[str, str], Level] | None = None,
    owners: frozenset[UserId] = frozenset({OWNER}),
) -> Ceremony:
    """The way of plans with a policy of a few lines."""
    return Ceremony(
        database=db,
        policy=Policy(version="1", levels=levels or LEVELS),
        issuer=TicketIssuer(database=db, owners=owners, language=Language.zh, actions=CATALOG),
        executors=executors or {},
        ring_outbox=lambda: None,
    )


def only_operation(db: Database) -> Operation:
    """The one row there is."""
    (row,) = db.query("SELECT id FROM operations")
    found = OperationStore(db).find(row["id"])
    assert found is not None
    return found


def reason_of(operation: Operation) -> str:
    """Why it ended as it did."""
    return str(json.loads(operation.outcome.content).get("reason", ""))


def states(db: Database) -> list[OperationState]:
    """The states of all operations."""
    return [OperationState(row["state"]) for row in db.query("SELECT state FROM operations")]


class NoArguments(ToolArguments):
    """None."""


class Tool:
    """A tool that plans what it was given."""

    name: ClassVar[str] = "test"
    description: ClassVar[str] = "A tool for tests."
    arguments: ClassVar[type[ToolArguments]] = NoArguments

    def __init__(self, work: Work, **more: Any) -> None:
        self._work = work
        self._more = more

    def plan(self, _arguments: Any, context: CallContext) -> Planned:
        """See Tool."""
        return plan_of(context.caller, self._work, **self._more)
