"""The two tasks of the seeded database that are told whole: one that ended, one that waits."""

from datetime import datetime, timedelta

from perlica.domain.approval import digest_code
from perlica.domain.clock import now_ms
from perlica.domain.ids import CallId, OperationId, RowId, TaskId, TicketId
from perlica.domain.outbox import OutboxKind
from perlica.domain.plan import Level
from perlica.domain.task import TaskState
from perlica.protection import JsonValue
from perlica.stores.sessions import NewCall
from tests.console.seeder import (
    CODE,
    HASH,
    OTHER_OWNER,
    OWNER,
    POLICY_VERSION,
    Seeder,
    at,
    sealed_json,
)

REPLY = "测试已全部通过；docs 沙箱已删除。"


def add_finished(
    seeder: Seeder, now: datetime, sandbox: RowId
) -> tuple[TaskId, OperationId, TicketId, CallId]:
    """A whole task with several turns, a ticket and an answer."""
    began = now - timedelta(minutes=52)
    with at(began):
        task = seeder.begin("跑测试，修好失败的用例，然后删掉旧的 docs 沙箱")
        seeder.turn(task, "system", {"text": "你是 Perlica……规则与初始上下文", "version": "1"})
        talk = "[11:02] 林小明: 昨天的测试好像挂了\n[11:04] 阿杰: 是的，两个"
        seeder.turn(task, "window", {"text": talk})
    with at(began + timedelta(seconds=6)):
        run, operation = _look(seeder, task, sandbox)
    with at(began + timedelta(seconds=15)):
        drop, spent = _ask_to_delete(seeder, task)
    with at(began + timedelta(minutes=3)):
        _delete(seeder, task, drop, spent)
    with at(began + timedelta(minutes=3, seconds=11)):
        _answer(seeder, task)
    return task, operation, spent, run.id


def _look(seeder: Seeder, task: TaskId, sandbox: RowId) -> tuple[NewCall, OperationId]:
    """A turn with two calls: one fails and gives a lot, one reads a file."""
    run = seeder.call("sandbox_exec", {"sandbox": "dev", "argv": ["make", "test"]})
    read = seeder.call("sandbox_read", {"sandbox": "dev", "path": "/src/app.py"}, 1)
    body: dict[str, JsonValue] = {
        "text": "先跑一遍测试，看看失败的用例。",
        "reasoning": "需要先看到失败的输出，再决定改哪里。",
    }
    seeder.turn(task, "assistant", body, (run, read))
    operation = seeder.execute(
        task,
        run,
        action="sandbox.exec",
        plan={
            "action": "sandbox.exec",
            "target": {"sandbox": "dev", "instance": "b2f1c0"},
            "effect": {"argv": ["make", "test"], "cwd": "/src"},
            "scope": "sandbox",
            "destination": "node-1",
        },
        outcome={"ended": "exited", "exit_code": 2, "duration_ms": 840, "stdout_bytes": 48211},
        sandbox=sandbox,
    )
    output = (
        "pytest -q\n..F....F\nFAILED tests/test_app.py::test_port - assert 8080 == 8081\n"
        "token=ghp_" + "Zx9Yw8Vu7Ts6" * 3 + "\n" + "line of output\n" * 2_000
    )
    seeder.give(task, run, output, "sandbox dev")
    seeder.execute(
        task,
        read,
        action="sandbox.read",
        plan={"action": "sandbox.read", "effect": {"path": "/src/app.py"}},
        outcome={"size_bytes": 812, "read_bytes": 812},
        sandbox=sandbox,
        kind="read",
        took_ms=21,
    )
    seeder.give(
        task, read, "PORT = 8080\n\n\ndef main() -> None:\n    serve(PORT)\n", "sandbox dev"
    )
    return run, operation


def _ask_to_delete(seeder: Seeder, task: TaskId) -> tuple[NewCall, TicketId]:
    seeder.turn(task, "note", {"text": "沙箱 dev 的用途描述是否仍然准确？"})
    drop = seeder.call("sandbox_manage", {"action": "delete", "name": "docs"})
    seeder.turn(task, "assistant", {"text": "端口写错了，已经改好。接着删除 docs。"}, (drop,))
    spent = seeder.draw(task, drop, "sandbox.delete", "docs")
    seeder.move(task, TaskState.waiting_approval)
    return drop, spent


def _delete(seeder: Seeder, task: TaskId, drop: NewCall, ticket: TicketId) -> None:
    with seeder.db.transaction():
        seeder.tickets.decide(
            ticket,
            decision="approved",
            user=OWNER,
            code_digest=digest_code(ticket, CODE),
            now_ms=now_ms(),
            owners_today=frozenset({OWNER}),
        )
        seeder.tickets.consume(ticket, plan_hash=HASH, now_ms=now_ms())
    seeder.move(task, TaskState.running)
    seeder.execute(
        task,
        drop,
        action="sandbox.delete",
        plan={
            "action": "sandbox.delete",
            "target": {"sandbox": "docs"},
            "effect": {"wipe": True},
            "policy_version": POLICY_VERSION,
        },
        outcome={"absent": True, "instance": "a01f22"},
        level=Level.high,
        ticket=ticket,
        took_ms=5_230,
    )
    seeder.give(task, drop, '{"deleted": true}', "sandboxd")


def _answer(seeder: Seeder, task: TaskId) -> None:
    seeder.turn(task, "assistant", {"text": REPLY})
    seeder.use(task, 4, 3, (18_420, 1_390))
    seeder.move(task, TaskState.completing, TaskState.completed, reason="answered")
    facts: dict[str, JsonValue] = {
        "reason": "answered",
        "elapsed_ms": 191_000,
        "model_calls": 4,
        "tool_calls": 3,
        "input_tokens": 18_420,
        "output_tokens": 1_390,
        "usage_is_estimate": False,
        "operations": [
            {"id": operation.id, "action": operation.action, "state": operation.state.value}
            for operation in seeder.operations.list_for_task(task)
        ],
    }
    with seeder.db.transaction():
        seeder.sessions.insert_summary(task, sealed_json(facts))
    text = f"【Perlica 回答 · {task}】\n{REPLY}\n【实际执行】\n- 删除沙箱（docs）：成功"
    seeder.send(f"final:{task}", OutboxKind.final, text, task)


def add_active(seeder: Seeder, now: datetime) -> tuple[TaskId, TicketId]:
    """A task that waits for an Owner."""
    with at(now - timedelta(minutes=4)):
        task = seeder.begin("把 bench 沙箱删掉，里面的结果不要了", user=OTHER_OWNER)
        seeder.turn(task, "system", {"text": "你是 Perlica……", "version": "1"})
        seeder.turn(task, "window", {"text": "[12:40] 阿杰: bench 可以删了"})
    with at(now - timedelta(minutes=3, seconds=40)):
        look = seeder.call("sandbox_manage", {"action": "list"})
        seeder.turn(task, "assistant", {"text": "先看看现有的沙箱。"}, (look,))
        seeder.execute(
            task,
            look,
            action="sandbox.list",
            plan={"action": "sandbox.list"},
            outcome={"entries": 3},
            took_ms=12,
        )
        seeder.give(task, look, '[{"name": "dev"}, {"name": "docs"}, {"name": "bench"}]', "perlica")
        with seeder.db.transaction():
            seeder.tasks.next_step(task, step=0)
    with at(now - timedelta(minutes=3)):
        drop = seeder.call("sandbox_manage", {"action": "delete", "name": "bench"})
        seeder.turn(task, "assistant", {"text": "bench 需要 Owner 批准才能删除。"}, (drop,))
        ticket = seeder.draw(task, drop, "sandbox.delete", "bench")
        seeder.use(task, 2, 2, (6_120, 420))
        seeder.move(task, TaskState.waiting_approval)
    return task, ticket
