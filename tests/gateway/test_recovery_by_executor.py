"""After a crash each operation is asked for where its row says that it was carried out."""

import os
import signal
import sqlite3
import subprocess
import sys
import textwrap
from contextlib import closing
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import apsw
import pytest

from perlica.domain.cancel import CancelToken
from perlica.domain.errors import OutcomeUnknown, Refused, StoreUnavailable
from perlica.domain.ids import OperationId
from perlica.domain.operation import CHANGE, READ, REMOTE, REMOTE_READ, OperationState
from perlica.domain.plan import Level, hash_plan
from perlica.gateway.core.caller import TaskCaller
from perlica.gateway.core.execution import PlanRunner
from perlica.gateway.core.outcomes import Answered
from perlica.gateway.core.recovery import CallRecovery, close_interrupted
from perlica.gateway.core.tickets import audit_detail
from perlica.gateway.core.work import Lease, Read, Remote, ToolResult
from perlica.stores import database as database_module
from perlica.stores.database import Database
from perlica.stores.migrations import migrate, read_migrations
from perlica.stores.old_time import end_old_time
from perlica.stores.operations import NewOperation, Operation, OperationStore
from perlica.stores.sessions import SessionStore
from tests.frame.checkout import ROOT
from tests.gateway.plans import (
    DONE,
    call_of_a_task,
    execution_of,
    only_operation,
    plan_of,
    reason_of,
)

KNOWN = "known"


@dataclass
class Hands:
    """An executor that says what it is told to say."""

    told: ToolResult | Exception | None = None
    name: str = KNOWN
    longest_work_s: float = 0.0
    asked: list[str] = field(default_factory=list)

    def run(self, _job: Any, _cancel: CancelToken, *, within_s: float) -> Any:
        raise AssertionError("nothing is run again")

    def give_back(self, _job: Any) -> None:
        raise AssertionError("there is no job")

    def look_up(
        self, _operation: OperationId, _cancel: CancelToken, *, within_s: float
    ) -> ToolResult | None:
        self.asked.append("look_up")
        if isinstance(self.told, Exception):
            raise self.told
        return self.told

    def hand_over(self, _operation: OperationId, *, stops: bool) -> bool:
        return True

    def take_back(self, _operation: OperationId) -> bool:
        self.asked.append("take_back")
        return self.told is not None

    def acknowledge(self, _operation: OperationId) -> None:
        return None


def left_behind(db: Database, executor: str, state: OperationState) -> TaskCaller:
    """A call that was dispatched, with its operation as an earlier process left it."""
    caller = call_of_a_task(db)
    plan = plan_of(caller, Read(run=lambda: DONE)).plan
    operation = OperationId("01K0000000000000000000TEST")
    with db.transaction():
        operations = OperationStore(db)
        operations.insert_operation(
            NewOperation(
                id=operation,
                origin=plan.origin,
                task_id=caller.task_id,
                call_id=caller.call,
                action=plan.action,
                level=Level.low,
                identity=plan.identity,
                executor=executor,
                plan_hash=hash_plan(plan),
                plan=audit_detail(plan.effect_fields()),
            )
        )
        SessionStore(db).move_call(caller.call, before="undispatched", after="dispatched")
        if state is not OperationState.queued:
            operations.start(operation)
        if state is OperationState.failed:
            operations.finish(operation, state, audit_detail({"reason": "interrupted"}))
    return caller


def recover(db: Database, caller: TaskCaller, hands: Hands | None = None) -> Answered:
    executors = {} if hands is None else {hands.name: hands}
    end = CallRecovery(database=db, executors=executors).recover(caller.call, CancelToken())
    assert isinstance(end, Answered)
    return end


@pytest.mark.parametrize("executor", [READ, CHANGE, REMOTE, REMOTE_READ, KNOWN, "gone"])
def test_what_was_queued_never_began_and_may_be_called_again(db: Database, executor: str) -> None:
    caller = left_behind(db, executor, OperationState.queued)

    said = recover(db, caller, Hands(told=None))

    assert "it began; nothing happened" in said.content.content
    assert only_operation(db).state is OperationState.abandoned


@pytest.mark.parametrize(
    ("executor", "state", "reason", "words"),
    [
        (REMOTE_READ, OperationState.failed, "interrupted", "Call it again"),
        (REMOTE, OperationState.unknown, "crashed", "outcome is unknown"),
        (CHANGE, OperationState.unknown, "crashed", "outcome is unknown"),
        ("gone", OperationState.unknown, "no_executor", "outcome is unknown"),
    ],
)
def test_what_was_started_has_failed_only_where_it_may_be_made_again(
    db: Database, executor: str, state: OperationState, reason: str, words: str
) -> None:
    caller = left_behind(db, executor, OperationState.started)

    said = recover(db, caller)

    assert words in said.content.content
    assert said.failed
    assert (only_operation(db).state, reason_of(only_operation(db))) == (state, reason)


def test_an_interrupted_read_says_so_again_when_it_was_closed_before(db: Database) -> None:
    caller = left_behind(db, REMOTE_READ, OperationState.failed)

    assert "the service restarted while it looked" in recover(db, caller).content.content


@pytest.mark.parametrize(
    ("told", "words"),
    [
        (DONE, "done"),
        (Refused("bad", "it failed over there"), "it failed over there"),
        (OutcomeUnknown("silent", "nobody says"), "outcome is unknown"),
        (None, "outcome is unknown"),
    ],
    ids=["its result", "its failure", "nobody can tell", "it knows nothing of it"],
)
def test_an_executor_is_asked_for_its_own_and_nothing_is_run_again(
    db: Database, told: ToolResult | Exception | None, words: str
) -> None:
    hands = Hands(told=told)
    caller = left_behind(db, KNOWN, OperationState.started)

    assert words in recover(db, caller, hands).content.content
    assert hands.asked == ["look_up"]


def test_no_executor_is_asked_for_the_operation_of_another(db: Database) -> None:
    hands = Hands(told=DONE)
    caller = left_behind(db, REMOTE, OperationState.started)

    recover(db, caller, hands)

    assert hands.asked == []


def closed(db: Database, operation: Operation) -> Operation:
    with db.transaction():
        return close_interrupted(db, operation)


def test_the_executor_of_a_row_cannot_be_changed(db: Database) -> None:
    left_behind(db, REMOTE, OperationState.started)

    with pytest.raises(Refused, match="executor"), db.transaction():
        db.change("UPDATE operations SET executor = 'remote_read'")

    assert closed(db, only_operation(db)).state is OperationState.unknown


@pytest.mark.parametrize(
    ("executor", "state"),
    [
        (REMOTE_READ, OperationState.failed),
        (REMOTE, OperationState.unknown),
        (KNOWN, OperationState.unknown),
    ],
)
def test_a_restore_ends_looks_as_failed_and_doubts_the_rest(
    db: Database, executor: str, state: OperationState
) -> None:
    left_behind(db, executor, OperationState.started)

    end_old_time(db, "test")

    assert only_operation(db).state is state
    assert reason_of(only_operation(db)) == "restored"


_OLD_ROW = """
INSERT INTO operations (id, origin_kind, origin_id, action, level, identity, plan_hash, plan,
    protection_status, policy_version, finding_count, state, created_at_ms)
VALUES (?, 'command', '1', 'sandbox.exec', 'low', 'sandboxd', 'h', '{}',
    'scanned_no_findings', '1', 0, 'queued', 1)
"""


def test_rows_of_before_belong_to_sandboxes_where_they_touched_one(tmp_path: Path) -> None:
    file = tmp_path / "old.db"
    migrate(file, steps=read_migrations()[:12])
    with closing(sqlite3.connect(file)) as old, old:
        old.executemany(_OLD_ROW, [("touched",), ("other",)])
        old.execute(
            "INSERT INTO sandbox_operations"
            " (operation_id, sandbox_id, kind, is_write, created_at_ms)"
            " VALUES ('touched', 1, 'exec', 1, 1)"
        )

    migrate(file)

    with Database.open(file) as now:
        rows = now.query("SELECT id, executor FROM operations ORDER BY id")
    assert [(row["id"], row["executor"]) for row in rows] == [
        ("other", "change"),
        ("touched", "sandbox"),
    ]


_KILLED = """
    import os, sys, time
    from pathlib import Path
    from perlica.domain.cancel import CancelToken
    from perlica.gateway.core.execution import PlanRunner
    from perlica.gateway.core.work import Remote
    from perlica.stores.database import Database
    from tests.gateway.plans import call_of_a_task, execution_of

    def call(lease):
        print("begun", flush=True)
        time.sleep(60)

    with Database.open(Path(sys.argv[1])) as db:
        caller = call_of_a_task(db)
        work = Remote(call=call, within_s=60, is_repeatable=sys.argv[2] == "again")
        execution = execution_of(caller, work, destination="web:example.org")
        PlanRunner(database=db, executors={}).execute(execution, CancelToken())
"""


@pytest.mark.parametrize(
    ("kind", "state"), [("again", OperationState.failed), ("once", OperationState.unknown)]
)
def test_a_process_killed_amid_a_call_outside_leaves_what_the_next_one_can_judge(
    db: Database, path: Path, kind: str, state: OperationState
) -> None:
    killed = subprocess.Popen(
        [sys.executable, "-c", textwrap.dedent(_KILLED), str(path), kind],
        stdout=subprocess.PIPE,
        text=True,
        cwd=ROOT,
        env={**os.environ, "PYTHONPATH": str(ROOT)},
    )
    assert killed.stdout is not None
    assert killed.stdout.readline() == "begun\n"
    killed.send_signal(signal.SIGKILL)
    killed.wait(10)
    killed.stdout.close()
    operation = only_operation(db)
    assert operation.state is OperationState.started
    assert operation.call_id is not None

    CallRecovery(database=db, executors={}).recover(operation.call_id, CancelToken())

    assert only_operation(db).state is state


@pytest.mark.parametrize("is_repeatable", [True, False])
@pytest.mark.parametrize("way", ["done", "refused", "unknown", "foreign"])
def test_a_call_whose_end_cannot_be_written_is_doubted_and_never_made_twice(
    path: Path, monkeypatch: pytest.MonkeyPatch, is_repeatable: bool, way: str
) -> None:
    monkeypatch.setattr(database_module, "BUSY_TIMEOUT_MS", 50)
    made: list[OperationId] = []
    with Database.open(path) as db, closing(apsw.Connection(str(path))) as busy:

        def call(lease: Lease) -> ToolResult:
            made.append(lease.operation)
            busy.execute("BEGIN IMMEDIATE")
            if way == "done":
                return DONE
            raise {
                "refused": Refused("no", "nothing happened"),
                "unknown": OutcomeUnknown("lost", "nobody can tell"),
                "foreign": ConnectionResetError("gone"),
            }[way]

        caller = call_of_a_task(db)
        work = Remote(call=call, within_s=30, is_repeatable=is_repeatable)
        execution = execution_of(caller, work, destination="web:example.org")
        with pytest.raises(StoreUnavailable):
            PlanRunner(database=db, executors={}).execute(execution, CancelToken())
        busy.execute("ROLLBACK")
        assert only_operation(db).state is OperationState.started

        said = recover(db, caller)

        assert said.failed
        ended = OperationState.failed if is_repeatable else OperationState.unknown
        assert only_operation(db).state is ended
        assert made == [only_operation(db).id]
