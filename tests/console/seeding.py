"""A database as weeks of service leave it, made by the stores themselves under a moved clock."""

from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from pathlib import Path

from perlica.domain.ids import CallId, OperationId, RowId, TaskId, TicketId
from perlica.domain.task import TaskState
from perlica.stores.database import Database
from tests.console.seeded_sandboxes import add_sandboxes
from tests.console.seeded_tasks import add_active, add_finished
from tests.console.seeded_troubles import add_troubles
from tests.console.seeder import OTHER_OWNER, OWNER, Seeder, at, sealed_json

REQUESTS = (
    "跑一下 tests 目录下的全部测试，把失败的用例列出来",
    "看看昨天的构建日志里为什么会超时",
    "把 README 里的安装步骤在沙箱里走一遍，告诉我哪一步不对",
    "查一下群里上周说的端口号是多少",
    "用 gcc 编译 main.c 并运行",
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Seeded:
    """What a test may ask for by name."""

    path: Path
    finished: TaskId
    active: TaskId
    ticket: TicketId
    spent: TicketId
    operation: OperationId
    unknown: OperationId
    call: CallId
    sandbox: RowId


def seed(path: Path) -> Seeded:
    """Fill a database as `Seeded` says; everything ends a minute ago at the latest."""
    now = datetime.now(UTC)
    with Database.open(path) as db:
        seeder = Seeder(db)
        _past(seeder, now)
        sandbox = add_sandboxes(seeder, now)
        finished, operation, spent, call = add_finished(seeder, now, sandbox)
        unknown = add_troubles(seeder, now, sandbox)
        active, ticket = add_active(seeder, now)
    return Seeded(
        path=path,
        finished=finished,
        active=active,
        ticket=ticket,
        spent=spent,
        operation=operation,
        unknown=unknown,
        call=call,
        sandbox=sandbox,
    )


def _past(seeder: Seeder, now: datetime) -> None:
    """Two weeks of tasks, messages and secrets that were redacted."""
    ends = [
        (TaskState.completed, "answered"),
        (TaskState.completed, "answered"),
        (TaskState.completed, "answered"),
        (TaskState.failed, "wall_time"),
        (TaskState.cancelled, "cancelled_by_member"),
    ]
    for number in range(38):
        began = now - timedelta(hours=8 * (40 - number), minutes=7 * number)
        state, reason = ends[number * 7 % 5]
        with at(began):
            task = seeder.begin(
                REQUESTS[number % len(REQUESTS)], user=(OWNER, OTHER_OWNER)[number % 2]
            )
            model, tools = 2 + number * 5 % 9, 1 + number * 3 % 7
            seeder.use(task, model, tools, (model * 2100 + 40 * number, model * 310))
            if number % 3 == 0:
                seeder.say(f"数据库密码: hunter{number}xQ9!a")
            if number % 4 == 0:
                seeder.say("curl -H 'Authorization: Bearer ghp_" + "a1B2c3D4e5F6" * 3 + "' x")
        with at(began + timedelta(seconds=20 + number * 13 % 200)):
            if state is TaskState.completed:
                seeder.move(task, TaskState.completing)
            seeder.move(task, state, reason=reason)
            with seeder.db.transaction():
                seeder.audit.add_event(
                    "task.ended",
                    actor="perlica",
                    detail=sealed_json({"reason": reason}),
                    task_id=task,
                )
