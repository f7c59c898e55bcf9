"""Every budget of a task ends it exactly when it is used up, and with its own reason."""

from collections.abc import Mapping
from dataclasses import fields, replace
from pathlib import Path
from typing import Any, Final

import pytest

from perlica.domain.cancel import CancelToken
from perlica.domain.ids import CallId
from perlica.domain.task import EndReason, TaskState
from perlica.domain.texts import Language
from perlica.gateway.known_actions import CATALOG
from perlica.protection import Channel, protect
from perlica.runtimes.sessions import RuntimeSessions
from perlica.session.budgets import Budgets, find_overdrawn, find_spent
from perlica.session.loop import AgentLoop
from perlica.stores.database import Database
from perlica.stores.sessions import NewCall, SessionStore
from perlica.stores.tasks import Task, TaskStore
from perlica.tasks.ending import TaskEnder
from tests.stores.rows import begin_task, move

BUDGETS: Final = Budgets(model_calls=5, tool_calls=4, tokens=1_000, equal_calls_in_a_row=3)


@pytest.fixture
def task(path: Path) -> Task:
    with Database.open(path) as db:
        return begin_task(db)


def spent(path: Path, task: Task, *calls: tuple[str, str]) -> EndReason | None:
    """The budget that this task has used up, with these calls on record."""
    with Database.open(path) as db:
        sessions = SessionStore(db)
        for number, (tool, arguments) in enumerate(calls):
            with db.transaction():
                body = protect({}, Channel.MODEL)
                seq = sessions.append_event(task.id, kind="assistant", body=body)
                new = NewCall(
                    id=CallId(f"c_{number}"),
                    position=0,
                    provider_call_id=f"p{number}",
                    tool=tool,
                    arguments=protect(arguments, Channel.TOOL_ARGUMENTS),
                    arguments_intact=True,
                )
                sessions.insert_calls(task.id, seq, [new])
        return find_spent(BUDGETS, task, sessions)


def test_a_task_that_used_nothing_has_every_budget_left(path: Path, task: Task) -> None:
    assert spent(path, task) is None
    assert find_overdrawn(BUDGETS, task) is None


@pytest.mark.parametrize(
    ("used", "reason"),
    [
        ({"model_calls": 4}, None),
        ({"model_calls": 5}, EndReason.model_calls),
        ({"model_calls": 6}, EndReason.model_calls),
        ({"input_tokens": 999}, None),
        ({"output_tokens": 999}, None),
        ({"input_tokens": 600, "output_tokens": 399}, None),
        ({"input_tokens": 600, "output_tokens": 400}, EndReason.tokens),
        ({"input_tokens": 1_000}, EndReason.tokens),
        ({"output_tokens": 1_000}, EndReason.tokens),
        ({"output_tokens": 50_000}, EndReason.tokens),
        ({"model_calls": 5, "input_tokens": 1_000}, EndReason.model_calls),
    ],
)
def test_model_calls_and_tokens_end_the_task_at_their_limit_and_not_before(
    path: Path, task: Task, used: Mapping[str, Any], reason: EndReason | None
) -> None:
    assert spent(path, replace(task, **used)) is reason


@pytest.mark.parametrize(("calls", "reason"), [(3, None), (4, None), (5, EndReason.tool_calls)])
def test_the_last_allowed_tool_call_runs_and_the_next_does_not(
    task: Task, calls: int, reason: EndReason | None
) -> None:
    assert find_overdrawn(BUDGETS, replace(task, tool_calls=calls)) is reason


A, B, A_OTHERWISE = ("exec", '{"a":1}'), ("read", '{"a":1}'), ("exec", '{"a":2}')


@pytest.mark.parametrize(
    ("calls", "reason"),
    [
        ((A, A), None),
        ((A, A, A), EndReason.repeated_calls),
        ((A, A, B), None),
        ((A, A, A_OTHERWISE), None),
        ((A, A, B, A), None),
        ((B, A, A, A), EndReason.repeated_calls),
        ((A, A, A, B), None),
    ],
)
def test_the_same_call_in_a_row_ends_the_task_and_any_other_between_counts_anew(
    path: Path, task: Task, calls: tuple[tuple[str, str], ...], reason: EndReason | None
) -> None:
    assert spent(path, task, *calls) is reason


class Untouchable:
    """A part that must not be used."""

    def __getattr__(self, name: str) -> object:
        pytest.fail(f"{name} was asked for")


def test_after_a_restart_calls_beyond_the_budget_still_do_not_run(path: Path, task: Task) -> None:
    with Database.open(path) as db:
        move(db, task.id, TaskState.contextualizing, TaskState.running)
        spent(path, task, A)
        with db.transaction():
            TaskStore(db).add_usage(
                task.id, model_calls=1, tool_calls=5, input_tokens=1, output_tokens=1
            )
        nothing: Any = Untouchable()
        loop = AgentLoop(
            database=db,
            gateway=nothing,
            runtime_sessions=RuntimeSessions(nothing),
            opening=nothing,
            budgets=BUDGETS,
            ender=TaskEnder(database=db, language=Language.zh, actions=CATALOG),
            language=Language.zh,
            new_transcript=nothing,
        )

        loop.do_step(task.id, task.step, CancelToken())

        ended = TaskStore(db).find_task(task.id)
        assert ended is not None
        assert (ended.state, ended.end_reason) == (TaskState.failed, EndReason.tool_calls.value)
        assert [call.state for call in SessionStore(db).list_calls(task.id)] == ["undispatched"]


def test_every_budget_is_tried_here() -> None:
    tried = {"model_calls", "tool_calls", "tokens", "equal_calls_in_a_row"}

    assert {field.name for field in fields(Budgets)} == tried
