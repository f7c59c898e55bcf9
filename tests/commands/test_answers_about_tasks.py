"""What members read of tasks, the audit and a cancel, line by line."""

from dataclasses import replace
from datetime import UTC
from typing import Any

import pytest

from perlica.commands.answers import _CANCELS as CANCELS
from perlica.commands.answers import answer_cancel
from perlica.commands.audit_words import say_actor, say_facts, say_kind
from perlica.commands.facts import CancelResult
from perlica.commands.records import (
    AuditLine,
    TaskLine,
    TaskRecord,
    TaskTicket,
    answer_audit,
    answer_task,
    answer_tasks,
)
from perlica.domain.approval import TicketState
from perlica.domain.ids import TaskId, TicketId
from perlica.domain.task import TaskState
from perlica.domain.texts import Language
from perlica.gateway.known_actions import CATALOG

EN = Language.en
LINE = TaskLine(
    task=TaskId("T-222222"),
    state=TaskState.failed,
    requester="r" * 25,
    age_ms=61_000,
    reason="other_group",
)


def record(**changed: Any) -> str:
    values: dict[str, Any] = {
        "line": LINE,
        "step": 0,
        "model_calls": 4,
        "tool_calls": 5,
        "tokens": 6,
        "tickets": (),
        "executed": (),
    }
    return answer_task(LINE.task, TaskRecord(**{**values, **changed}), EN)


def test_five_tasks_are_listed() -> None:
    assert len(answer_tasks([LINE] * 6, EN).split("\n")) == 6
    assert len(answer_tasks([], EN).split("\n")) == 1
    assert "r" * 23 + "…" in answer_tasks([LINE], EN)


def test_a_task_tells_its_step_its_reason_and_what_it_did() -> None:
    said = record()

    assert "Step 1; 4 model and 5 tool calls, 6 tokens" in said
    assert "it belongs to another group" in said
    assert "1 min 1 s" in said
    assert "r" * 23 + "…" in said
    assert "Nothing was executed" in said
    assert "Reason" not in record(line=replace(LINE, reason=None))
    assert record(executed=("did a",)).endswith("Executed:\n- did a")


def test_a_task_lists_its_tickets() -> None:
    ticket = TaskTicket(ticket=TicketId("K7Q2M"), action="a" * 61, state=TicketState.denied)
    said = record(tickets=(ticket,))

    assert "Approval K7Q2M: " + "a" * 59 + "…, denied" in said


def test_a_task_that_nobody_knows_is_said_to_be_none() -> None:
    assert "T-333333" in answer_task(TaskId("T-333333"), None, EN)


def test_ten_events_of_the_audit_are_listed() -> None:
    event = AuditLine(at_ms=1_000, kind="k", actor="a", about=("x", "y" * 61))
    said = answer_audit([event] * 11, UTC, EN, CATALOG)

    assert len(said.split("\n")) == 11
    assert said.split("\n")[1] == f"00:00:01 (UTC+00:00) k, a x {'y' * 59}…"
    assert len(answer_audit([], UTC, EN, CATALOG).split("\n")) == 1
    assert answer_audit([replace(event, about=())], UTC, EN, CATALOG).endswith("k, a")


@pytest.mark.parametrize(
    ("actor", "said"),
    [
        ("member:12", "member 12"),
        ("member:", "member:"),
        ("task:T-1", "task T-1"),
        ("gateway", "the tool gateway"),
        ("who:12", "who:12"),
        ("z" * 61, "z" * 59 + "…"),
    ],
)
def test_an_actor_is_a_member_a_part_or_its_own_name(actor: str, said: str) -> None:
    assert say_actor(actor, EN) == said


def test_a_kind_without_words_is_shown_by_itself() -> None:
    assert say_kind("new.kind", EN) == "new.kind"
    assert say_kind("task.ended", EN) == "Task ended"


@pytest.mark.parametrize(
    ("facts", "said"),
    [
        ({}, ""),
        ({"action": 5, "reason": None}, ""),
        ({"action": "web.fetch"}, " (fetch a web page)"),
        ({"sandbox": "lab", "node": "n1"}, " (sandbox lab)"),
        ({"node": "n1"}, " (node n1)"),
        ({"verdict": "approved", "approve": True}, " (to grant: approved)"),
        ({"verdict": "wrong_code", "approve": False}, " (to deny: wrong code)"),
        ({"verdict": "approved"}, ""),
        ({"verdict": "odd", "approve": True}, ""),
        ({"before": "1", "after": "2"}, " (1 → 2)"),
        ({"before": "1"}, ""),
        ({"after": "2"}, ""),
        ({"code": "other_group"}, " (because of it belongs to another group)"),
        ({"reason": "no_image", "code": "x"}, " (no sandbox image is configured)"),
        ({"sandbox": "s" * 61, "before": "b" * 60, "after": "a"}, None),
    ],
)
def test_facts_are_said_in_brackets(facts: dict[str, object], said: str | None) -> None:
    spoken = say_facts(facts, EN, CATALOG)

    assert spoken == said if said is not None else spoken.endswith("…)") and len(spoken) == 123


@pytest.mark.parametrize("result", list(CancelResult))
def test_a_cancel_names_the_task_that_lives_and_the_one_that_was_asked_for(
    result: CancelResult,
) -> None:
    said = answer_cancel(result, task=TaskId("T-222222"), asked=TaskId("T-333333"), language=EN)
    bare = answer_cancel(result, task=None, asked=None, language=EN)
    names_task = "{task}" in CANCELS[result].en
    names_asked = "{asked}" in CANCELS[result].en

    assert ("T-222222" in said) is names_task
    assert ("T-333333" in said) is names_asked
    assert "None" not in bare
