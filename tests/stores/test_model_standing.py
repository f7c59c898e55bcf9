"""How the model's service stands is read from the tables: `.status`, console and metrics agree."""

from pathlib import Path

import pytest

from perlica.commands.answers import answer_status
from perlica.commands.facts import ModelTroubleFacts, StatusFacts
from perlica.domain.task import EndReason, TaskState
from perlica.domain.texts import Language
from perlica.domain.texts.models import TROUBLES
from perlica.protection import Channel, protect
from perlica.stores.database import Database
from perlica.stores.model_standing import SERVICE_TROUBLES, ModelStanding, read_model_standing
from perlica.stores.sessions import SessionStore
from perlica.stores.tasks import TaskStore
from tests.stores.rows import begin_task


def fail(db: Database, reason: EndReason) -> None:
    task = begin_task(db)
    with db.transaction():
        TaskStore(db).move_task(
            task.id, before=task.state, after=TaskState.failed, reason=reason.value
        )


def answer(db: Database) -> None:
    task = begin_task(db)
    with db.transaction():
        body = protect({"text": "443"}, Channel.MODEL)
        SessionStore(db).append_event(task.id, kind="assistant", body=body)
        TaskStore(db).move_task(
            task.id, before=task.state, after=TaskState.failed, reason=EndReason.wall_time.value
        )


def shift(db: Database, by_ms: int) -> None:
    """Let everything so far have happened `by_ms` earlier."""
    with db.transaction():
        db.change(
            "UPDATE tasks SET created_at_ms = created_at_ms - ?1, ended_at_ms = ended_at_ms - ?1",
            (by_ms,),
        )
        db.change("UPDATE session_events SET created_at_ms = created_at_ms - ?1", (by_ms,))


def test_before_anything_was_asked_nothing_is_claimed(db: Database) -> None:
    assert read_model_standing(db) == ModelStanding()


@pytest.mark.parametrize("reason", SERVICE_TROUBLES)
def test_every_trouble_of_the_service_is_known_until_the_model_answers(
    db: Database, reason: EndReason
) -> None:
    fail(db, reason)
    assert read_model_standing(db).trouble is reason

    shift(db, 1_000)
    answer(db)
    standing = read_model_standing(db)
    assert standing.trouble is None
    assert standing.answered_at_ms is not None


def test_a_trouble_of_one_conversation_is_none_of_the_service(db: Database) -> None:
    for reason in EndReason:
        if reason not in SERVICE_TROUBLES:
            fail(db, reason)

    assert read_model_standing(db).trouble is None


def test_a_restart_forgets_nothing_of_it(db: Database, path: Path) -> None:
    fail(db, EndReason.model_key)
    before = read_model_standing(db)

    with Database.open(path, read_only=True) as again:
        assert read_model_standing(again) == before


@pytest.mark.parametrize("language", Language)
@pytest.mark.parametrize("reason", SERVICE_TROUBLES)
def test_status_says_what_is_wrong_with_the_model_and_since_when(
    reason: EndReason, language: Language
) -> None:
    trouble = ModelTroubleFacts(reason=reason, age_ms=180_000)
    facts = StatusFacts(task=None, most_sandboxes=3, model_trouble=trouble)
    said = answer_status(facts, language)

    assert TROUBLES[reason].what.say(language) in said
    assert "3 分" in said or "3 min" in said
