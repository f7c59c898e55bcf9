"""Who asks for an action: a task with one of its calls, or an Owner's command message.

Plans, tickets, operations and audit rows are bound to it, whichever of the two it is.
"""

from dataclasses import dataclass

from perlica.domain.ids import CallId, GroupId, RowId, TaskId, UserId
from perlica.domain.plan import Origin
from perlica.stores.tasks import Task


@dataclass(frozen=True, slots=True, kw_only=True)
class TaskCaller:
    """A call of the task; the task stands as it was when the step began."""

    task: Task
    call: CallId

    @property
    def origin(self) -> Origin:
        """What the plan's hash says of it."""
        return Origin(kind="task", id=self.task.id)

    @property
    def group_id(self) -> GroupId:
        """The task's group."""
        return self.task.group_id

    @property
    def requester(self) -> UserId:
        """Who asked for the task."""
        return self.task.requester_id

    @property
    def task_id(self) -> TaskId | None:
        """The task."""
        return self.task.id

    @property
    def call_id(self) -> CallId | None:
        """The call."""
        return self.call

    @property
    def actor(self) -> str:
        """How audit rows name it."""
        return f"task:{self.task.id}"


@dataclass(frozen=True, slots=True, kw_only=True)
class CommandCaller:
    """An Owner's command, as intake stored it; no model and no task has a part in it."""

    message_row: RowId
    user: UserId
    group_id: GroupId

    @property
    def origin(self) -> Origin:
        """What the plan's hash says of it."""
        return Origin(kind="command", id=str(self.message_row))

    @property
    def requester(self) -> UserId:
        """The Owner."""
        return self.user

    @property
    def task_id(self) -> TaskId | None:
        """None: commands belong to no task."""
        return None

    @property
    def call_id(self) -> CallId | None:
        """None: commands are no calls."""
        return None

    @property
    def actor(self) -> str:
        """How audit rows name it."""
        return f"member:{self.user}"


Caller = TaskCaller | CommandCaller
