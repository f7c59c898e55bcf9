"""A task's transcript, its calls and what they gave, as a restart finds them."""

import pytest

from perlica.domain.errors import Refused, StaleState
from perlica.domain.ids import CallId, new_call_id
from perlica.protection import Channel, not_scanned, protect
from perlica.stores.database import Database
from perlica.stores.sessions import NewCall, SessionStore
from tests.stores.rows import begin_task, sealed, sealed_json


def new_call(position: int, call: CallId | None = None) -> NewCall:
    return NewCall(
        id=call or new_call_id(),
        position=position,
        provider_call_id="call_1",
        tool="sandbox_exec",
        arguments=sealed_json(command="ls"),
        arguments_intact=True,
    )


def test_a_transcript_is_read_in_the_order_it_was_written(db: Database) -> None:
    task = begin_task(db).id
    sessions = SessionStore(db)
    with db.transaction():
        first = sessions.append_event(task, kind="window", body=sealed_json(text="请"))
        second = sessions.append_event(
            task, kind="assistant", body=sealed_json(text="好"), opaque=b"\x00signed"
        )

    events = sessions.list_events(task)

    assert (first, second) == (1, 2)
    assert [(e.seq, e.kind, e.body.content) for e in events] == [
        (1, "window", '{"text":"请"}'),
        (2, "assistant", '{"text":"好"}'),
    ]
    assert [e.opaque for e in events] == [None, b"\x00signed"]


@pytest.mark.evidence(6)
def test_a_body_that_could_not_be_scanned_is_kept_as_that(db: Database) -> None:
    task = begin_task(db).id
    with db.transaction():
        SessionStore(db).append_event(task, kind="note", body=not_scanned())

    (event,) = SessionStore(db).list_events(task)

    assert event.body.content == '{"withheld":"not_scanned"}'


def test_a_body_that_is_no_json_is_refused(db: Database) -> None:
    task = begin_task(db).id

    with pytest.raises(Refused, match="json_valid"), db.transaction():
        SessionStore(db).append_event(task, kind="note", body=sealed("not json"))


def test_calls_of_a_turn_wait_in_their_order_until_they_are_moved(db: Database) -> None:
    task = begin_task(db).id
    sessions = SessionStore(db)
    calls = [new_call(0), new_call(1), new_call(2)]
    with db.transaction():
        sessions.insert_calls(task, 1, calls)
        sessions.move_call(calls[1].id, before="undispatched", after="dispatched")

    waiting = sessions.list_calls(task, {"undispatched"})

    assert [call.id for call in waiting] == [calls[0].id, calls[2].id]
    assert [call.position for call in sessions.list_calls(task)] == [0, 1, 2]
    assert sessions.find_call(calls[1].id) == sessions.list_calls(task)[1]


def test_a_call_is_dispatched_once(db: Database) -> None:
    task = begin_task(db).id
    sessions = SessionStore(db)
    call = new_call(0)
    with db.transaction():
        sessions.insert_calls(task, 1, [call])
        sessions.move_call(call.id, before="undispatched", after="dispatched")

    with pytest.raises(StaleState), db.transaction():
        sessions.move_call(call.id, before="undispatched", after="dispatched")


def test_a_turn_has_one_call_at_each_place(db: Database) -> None:
    task = begin_task(db).id

    with pytest.raises(Refused), db.transaction():
        SessionStore(db).insert_calls(task, 1, [new_call(0), new_call(0)])

    assert SessionStore(db).list_calls(task) == ()


def test_what_a_tool_gave_is_kept_with_its_source_and_protection(db: Database) -> None:
    task = begin_task(db).id
    sessions = SessionStore(db)
    call = new_call(0)
    content = protect("password=hunter2-hunter2-hunter2", Channel.TOOL_RESULT)
    with db.transaction():
        sessions.insert_calls(task, 1, [call])
        assert sessions.find_output(call.id) is None
        sessions.insert_output(call.id, task, "sandbox dev", content)

    output = sessions.find_output(call.id)

    assert output is not None
    assert output.source == "sandbox dev"
    assert output.content.content == content.content
    assert output.content.status == content.status
    assert output.content.finding_count == content.finding_count


def test_a_task_has_one_summary(db: Database) -> None:
    task = begin_task(db).id
    sessions = SessionStore(db)
    assert sessions.find_summary(task) is None
    with db.transaction():
        sessions.insert_summary(task, sealed("删除了 dev"))

    with pytest.raises(Refused), db.transaction():
        sessions.insert_summary(task, sealed("again"))

    summary = sessions.find_summary(task)
    assert summary is not None
    assert summary.content == "删除了 dev"
