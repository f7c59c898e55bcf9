"""One task at a time, moved by compare-and-set, with its time and its use counted."""

import pytest
import time_machine

from perlica.domain.clock import now_ms
from perlica.domain.errors import Refused, StaleState
from perlica.domain.ids import RowId
from perlica.domain.task import MOVES, TaskState
from perlica.stores.database import Database
from perlica.stores.tasks import Task, TaskStore
from tests.stores.rows import GROUP, OWNER, begin_task, end_task, move, stored

ALIVE = [state for state in TaskState if MOVES[state]]


def create(db: Database, row: RowId) -> Task | None:
    return TaskStore(db).create_task(
        trigger_row=row,
        requester_id=OWNER,
        group_id=GROUP,
        policy_version="p",
        context_version="c",
    )


@pytest.mark.evidence(13)
def test_while_a_task_lives_no_other_is_made_and_the_caller_may_write_on(db: Database) -> None:
    task = begin_task(db)
    row = stored(db, "@Perlica and this?", kind="trigger")

    with db.transaction():
        assert create(db, row) is None
        db.change("INSERT INTO service_state VALUES ('busy', 'told')")

    assert TaskStore(db).active_task() == task
    assert len(db.query("SELECT * FROM service_state")) == 1


def test_after_its_end_the_next_task_is_made(db: Database) -> None:
    end_task(db, begin_task(db).id)

    assert TaskStore(db).active_task() is None
    assert begin_task(db).state is TaskState.received


@pytest.mark.evidence(13)
@pytest.mark.parametrize("state", ALIVE)
def test_a_second_living_task_cannot_be_inserted_even_by_raw_sql(
    db: Database, state: TaskState
) -> None:
    begin_task(db)

    with pytest.raises(Refused, match="task_active"), db.transaction():
        db.query(
            "INSERT INTO tasks (id, group_id, requester_id, state, created_at_ms, policy_version,"
            " context_version) VALUES ('T-2', :group, 1, :state, 1, 'p', 'c')",
            {"group": GROUP, "state": state.value},
        )


def test_a_message_makes_one_task_ever(db: Database) -> None:
    task = begin_task(db)
    assert task.trigger_row is not None
    end_task(db, task.id)

    with pytest.raises(Refused, match="task_exists"), db.transaction():
        create(db, task.trigger_row)


@pytest.mark.evidence(13)
def test_two_connections_make_one_task(db: Database, other: Database) -> None:
    rows = [stored(db, "@Perlica a", kind="trigger"), stored(db, "@Perlica b", kind="trigger")]

    with db.transaction():
        first = create(db, rows[0])
    with other.transaction():
        second = create(other, rows[1])

    assert first is not None
    assert second is None


def test_a_missed_move_takes_everything_back_that_stood_beside_it(db: Database) -> None:
    task = begin_task(db)
    move(db, task.id, TaskState.contextualizing)

    def move_late() -> None:
        with db.transaction():
            db.change("INSERT INTO service_state VALUES ('beside', 'x')")
            TaskStore(db).move_task(
                task.id, before=TaskState.received, after=TaskState.contextualizing
            )

    with pytest.raises(StaleState):
        move_late()

    assert db.query("SELECT * FROM service_state") == []
    assert len(TaskStore(db).list_events(task.id)) == 2


def test_a_move_of_a_late_step_misses(db: Database) -> None:
    task = begin_task(db)
    move(db, task.id, TaskState.contextualizing, TaskState.running)
    tasks = TaskStore(db)
    with db.transaction():
        assert tasks.next_step(task.id, step=0) == 1

    with pytest.raises(StaleState), db.transaction():
        tasks.next_step(task.id, step=0)
    with pytest.raises(StaleState), db.transaction():
        tasks.move_task(task.id, before=TaskState.running, after=TaskState.completing, step=0)

    assert tasks.find_task(task.id) == tasks.active_task()


def test_a_step_is_counted_only_while_the_task_runs(db: Database) -> None:
    task = begin_task(db)

    with pytest.raises(StaleState), db.transaction():
        TaskStore(db).next_step(task.id, step=0)


def test_a_move_that_the_rules_do_not_list_is_a_fault(db: Database) -> None:
    task = begin_task(db)

    with pytest.raises(ValueError, match="no task moves"), db.transaction():
        TaskStore(db).move_task(task.id, before=TaskState.received, after=TaskState.completed)


def test_a_task_that_ended_cannot_come_back_even_by_raw_sql(db: Database) -> None:
    task = end_task(db, begin_task(db).id)

    with pytest.raises(Refused, match="task_ended"), db.transaction():
        db.query(
            "UPDATE tasks SET state = 'running', ended_at_ms = NULL WHERE id = :id",
            {"id": task.id},
        )


def test_time_spent_waiting_for_an_owner_is_not_active_time(db: Database) -> None:
    with time_machine.travel(1_000.0, tick=False) as clock:
        task = begin_task(db)
        move(db, task.id, TaskState.contextualizing, TaskState.running)
        clock.shift(10)
        move(db, task.id, TaskState.waiting_approval)
        clock.shift(300)
        waiting = TaskStore(db).find_task(task.id)
        move(db, task.id, TaskState.running)
        clock.shift(5)
        running = TaskStore(db).find_task(task.id)
        ended = end_task(db, task.id)

        assert waiting is not None
        assert waiting.active_ms_at(now_ms()) == 10_000
        assert running is not None
        assert running.active_ms_at(now_ms()) == 15_000
        assert (ended.active_ms, ended.active_since_ms) == (15_000, None)
        assert ended.ended_at_ms == now_ms()


def test_each_move_is_an_event_and_the_last_one_says_why(db: Database) -> None:
    task = begin_task(db)
    with db.transaction():
        ended = TaskStore(db).move_task(
            task.id, before=TaskState.received, after=TaskState.failed, reason="model_failed"
        )

    events = TaskStore(db).list_events(task.id)

    assert ended.end_reason == "model_failed"
    assert [(e.state_before, e.state_after, e.reason) for e in events] == [
        (None, TaskState.received, ""),
        (TaskState.received, TaskState.failed, "model_failed"),
    ]


def test_what_a_task_uses_adds_up(db: Database) -> None:
    task = begin_task(db)
    tasks = TaskStore(db)
    with db.transaction():
        tasks.add_usage(task.id, model_calls=1, input_tokens=10, output_tokens=5)
        used = tasks.add_usage(task.id, model_calls=1, input_tokens=10, output_tokens=5)
        tasks.set_window_facts(task.id, {"cut_by": "messages", "taken": 30})
        crashes = [tasks.note_crash(task.id), tasks.note_crash(task.id)]

    found = tasks.find_task(task.id)

    assert (used.model_calls, used.input_tokens, used.output_tokens) == (2, 20, 10)
    assert crashes == [1, 2]
    assert found is not None
    assert found.window_facts == {"cut_by": "messages", "taken": 30}


def test_the_newest_tasks_are_listed_first(db: Database) -> None:
    ids = []
    for _ in range(3):
        task = begin_task(db)
        ids.append(task.id)
        end_task(db, task.id)

    assert [task.id for task in TaskStore(db).list_tasks(2)] == [ids[2], ids[1]]
