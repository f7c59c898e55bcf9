"""What is older than it may be is gone, from the tables and from the bytes of the files."""

from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
import time_machine

from perlica.domain.clock import now_ms
from perlica.domain.ids import MessageId, OutboxId, new_call_id
from perlica.domain.operation import OperationState
from perlica.domain.outbox import OutboxKind
from perlica.domain.plan import Level
from perlica.domain.sandbox import SandboxState
from perlica.stores import database
from perlica.stores.audit import AuditStore
from perlica.stores.database import Database
from perlica.stores.messages import MessageKey, MessageStore, StoredAttachment
from perlica.stores.operations import OperationStore
from perlica.stores.outbox import OutboxStore
from perlica.stores.retention import Retention, RetentionAges
from perlica.stores.sandboxes import SandboxStore
from perlica.stores.sessions import NewCall, SessionStore
from perlica.stores.tasks import TaskStore
from tests.stores.rows import (
    GROUP,
    approve,
    begin_task,
    draw,
    end_task,
    message,
    new_operation,
    new_ticket,
    queue,
    reserve,
    sealed,
    sealed_json,
    spend,
    start,
    store,
    stored,
)

DAY_S = 86_400
CANARIES = ("龘靐龖龗", "canary-7f3a9c", "🦉🦉🦉🦉")


@pytest.fixture
def clock() -> Iterator["time_machine.Traveller"]:
    """A clock that stands still until a test moves it."""
    with time_machine.travel(1_000_000.0, tick=False) as moved:
        yield moved


def clean(db: Database) -> dict[str, int]:
    return dict(Retention(db).run_to_end().rows)


def count(db: Database, table: str) -> int:
    return len(db.query(f"SELECT 1 FROM {table}"))


def files_hold(path: Path, text: str) -> bool:
    everything = b"".join(p.read_bytes() for p in sorted(path.parent.iterdir()))
    return text.encode() in everything


# --- one record of each kind, with how it is made ------------------------------------------------


def make_message(db: Database) -> None:
    picture = StoredAttachment(kind="image", name=sealed("a.png"), size_bytes=1, handle="h")
    store(db, message("hello"), attachments=[picture])


def make_transcript(db: Database) -> None:
    task = begin_task(db).id
    call = NewCall(
        id=new_call_id(),
        position=0,
        provider_call_id="p",
        tool="t",
        arguments=sealed_json(),
        arguments_intact=True,
    )
    sessions = SessionStore(db)
    with db.transaction():
        sessions.append_event(task, kind="window", body=sealed_json(text="x"))
        sessions.insert_calls(task, 1, [call])
        sessions.insert_output(call.id, task, "sandbox", sealed("output"))
        sessions.insert_summary(task, sealed("summary"))
    end_task(db, task)


def make_audit(db: Database) -> None:
    with db.transaction():
        AuditStore(db).add_event("x", actor="y", detail=sealed_json())


def make_operation(db: Database) -> None:
    operation = queue(db)
    start(db, operation.id)
    with db.transaction():
        OperationStore(db).finish(operation.id, OperationState.succeeded, sealed_json())


def make_sent(db: Database) -> None:
    with db.transaction():
        outbox = OutboxStore(db)
        (row,) = outbox.enqueue(key="k", kind=OutboxKind.final, content=sealed("hello"))
        outbox.begin_attempt(row, "e", "s", now_ms())
        outbox.mark_sent(row, MessageId(1))


def make_mark(db: Database) -> None:
    with db.transaction():
        messages = MessageStore(db)
        messages.mark_in_hand((MessageKey(group_id=GROUP, message_id=MessageId(1), real_seq=1),))
        messages.note_crashes()


@pytest.mark.parametrize(
    ("make", "table", "days"),
    [
        (make_message, "group_messages", 90),
        (make_message, "attachments", 90),
        (make_message, "message_days", 91),
        (make_mark, "messages_in_hand", 90),
        (make_transcript, "tool_outputs", 14),
        (make_transcript, "session_events", 30),
        (make_transcript, "tool_calls", 30),
        (make_transcript, "session_summaries", 30),
        (make_transcript, "task_events", 30),
        (make_transcript, "tasks", 30),
        (make_audit, "audit_events", 30),
        (make_operation, "operations", 30),
        (make_sent, "outbox_messages", 30),
        (draw, "approvals", 30),
    ],
)
def test_each_record_is_kept_to_its_day_and_no_longer(
    db: Database,
    clock: "time_machine.Traveller",
    make: Callable[[Database], object],
    table: str,
    days: int,
) -> None:
    make(db)
    clock.shift(days * DAY_S - (DAY_S if table == "message_days" else 0))
    clean(db)
    kept = count(db, table)

    clock.shift(DAY_S if table == "message_days" else 0.001)
    clean(db)

    assert kept >= 1
    assert count(db, table) == 0


def test_age_counts_from_the_record_whatever_time_the_sender_claims(
    db: Database, clock: "time_machine.Traveller"
) -> None:
    stored(db, message("from the future", sent_at_ms=now_ms() + 10_000 * DAY_S * 1000))
    stored(db, message("caught up late", sent_at_ms=0))
    clock.shift(90 * DAY_S)
    clean(db)
    assert count(db, "group_messages") == 2

    clock.shift(0.001)

    assert clean(db)["group_messages"] == 2


def test_deleted_text_is_gone_from_the_raw_files(
    path: Path, db: Database, clock: "time_machine.Traveller"
) -> None:
    for canary in CANARIES:
        picture = StoredAttachment(
            kind="file", name=sealed(f"{canary}.txt"), size_bytes=1, handle=canary
        )
        store(db, message(f"x {canary} y"), attachments=[picture])
        with db.transaction():
            AuditStore(db).add_event("x", actor="y", detail=sealed_json(said=canary))
            OutboxStore(db).enqueue(key=canary, kind=OutboxKind.final, content=sealed(canary))
    make_transcript(db)
    for number in range(300):  # enough to move pages about
        stored(db, f"filler {number} " + "填" * 50)
    with db.transaction():
        for row in db.query("SELECT id FROM outbox_messages"):
            OutboxStore(db).mark_dead(OutboxId(row["id"]), "x")
    assert all(files_hold(path, canary) for canary in CANARIES)
    clock.shift(91 * DAY_S)
    stored(db, "what came later")

    cleaned = Retention(db).run_to_end()

    assert not cleaned.more
    assert [canary for canary in CANARIES if files_hold(path, canary)] == []
    assert not files_hold(path, "龘")
    assert files_hold(path, "what came later")
    assert db.query("PRAGMA integrity_check") == [{"integrity_check": "ok"}]


def test_while_somebody_reads_the_old_state_clean_up_says_that_it_is_not_through(
    path: Path, db: Database, clock: "time_machine.Traveller", monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(database, "BUSY_TIMEOUT_MS", 10)
    stored(db, "龘靐龖龗")
    clock.shift(91 * DAY_S)
    with Database.open(path) as cleaner, Database.open(path) as reader:
        reader.query("BEGIN")
        reader.query("SELECT count(*) FROM group_messages")

        held = Retention(cleaner).clean_up()
        reader.query("COMMIT")
        freed = Retention(cleaner).clean_up()

    assert held.rows["group_messages"] == 1
    assert held.more
    assert not freed.more
    assert not files_hold(path, "龘")


def test_clean_up_goes_on_where_it_ran_out_of_time(
    db: Database, clock: "time_machine.Traveller"
) -> None:
    for number in range(30):
        stored(db, f"old {number}")
    clock.shift(91 * DAY_S)
    retention = Retention(db)

    none = retention.clean_up(within_s=0.0)
    rest = retention.clean_up()

    assert (none.rows, none.more) == ({}, True)
    assert (rest.rows["group_messages"], rest.more) == (30, False)


def test_free_space_goes_back_to_the_file_system(
    path: Path, db: Database, clock: "time_machine.Traveller"
) -> None:
    with db.transaction():
        for number in range(1_500):
            AuditStore(db).add_event(f"{number}", actor="y" * 8_000, detail=sealed_json())
    db.truncate_wal()
    full = path.stat().st_size
    clock.shift(31 * DAY_S)

    clean(db)

    assert path.stat().st_size < full / 2


def test_a_living_task_keeps_its_transcript_and_its_trigger(
    db: Database, clock: "time_machine.Traveller"
) -> None:
    task = begin_task(db)
    with db.transaction():
        SessionStore(db).append_event(task.id, kind="window", body=sealed_json())
    clock.shift(100 * DAY_S)

    clean(db)

    alive = TaskStore(db).active_task()
    assert alive is not None
    assert alive.trigger_row == task.trigger_row
    assert len(SessionStore(db).list_events(task.id)) == 1


def test_a_ticket_is_never_deleted_while_its_task_lives(
    db: Database, clock: "time_machine.Traveller"
) -> None:
    task = begin_task(db)
    draw(db, new_ticket(task=task.id))
    clock.shift(300 * DAY_S)

    clean(db)

    assert count(db, "approvals") == 1


@pytest.mark.parametrize(("ends_after_days", "kept_days"), [(0, 30), (10, 30), (29, 36), (40, 47)])
def test_a_ticket_is_kept_thirty_days_or_seven_after_its_task_whichever_is_later(
    db: Database, clock: "time_machine.Traveller", ends_after_days: int, kept_days: int
) -> None:
    task = begin_task(db)
    draw(db, new_ticket(task=task.id))
    clock.shift(ends_after_days * DAY_S)
    end_task(db, task.id)
    clock.shift((kept_days - ends_after_days) * DAY_S)
    clean(db)
    assert count(db, "approvals") == 1

    clock.shift(0.001)
    clean(db)

    assert count(db, "approvals") == 0


def test_a_ticket_outlives_the_rows_of_its_task(
    db: Database, clock: "time_machine.Traveller"
) -> None:
    task = begin_task(db)
    clock.shift(29 * DAY_S)
    draw(db, new_ticket(task=task.id))
    end_task(db, task.id)
    clock.shift(2 * DAY_S)

    clean(db)

    assert count(db, "tasks") == 0
    assert count(db, "approvals") == 1
    clock.shift(28.5 * DAY_S)
    clean(db)
    assert count(db, "approvals") == 0


def test_an_operation_outlives_its_ticket_and_does_not_hold_it_back(
    db: Database, clock: "time_machine.Traveller"
) -> None:
    ticket = draw(db)
    approve(db, ticket)
    spend(db, ticket)
    operation = queue(db, new_operation(level=Level.high, ticket=ticket.id))
    start(db, operation.id)
    with db.transaction():
        OperationStore(db).mark_unknown(operation.id, "no_answer")
    clock.shift(300 * DAY_S)

    clean(db)

    assert count(db, "approvals") == 0
    (unknown,) = OperationStore(db).list_unknown()
    assert unknown.ticket_id == ticket.id
    assert db.query("PRAGMA foreign_key_check") == []


@pytest.mark.parametrize("state", ["queued", "started", "unknown"])
def test_an_operation_that_is_not_settled_is_never_deleted(
    db: Database, clock: "time_machine.Traveller", state: str
) -> None:
    operation = queue(db)
    if state != "queued":
        start(db, operation.id)
    if state == "unknown":
        with db.transaction():
            OperationStore(db).mark_unknown(operation.id, "x")
    clock.shift(300 * DAY_S)

    clean(db)

    assert count(db, "operations") == 1


def test_a_sandbox_is_forgotten_after_its_last_operation_and_not_while_it_exists(
    db: Database, clock: "time_machine.Traveller"
) -> None:
    gone, living = reserve(db, "gone"), reserve(db, "living")
    operation = queue(db)
    start(db, operation.id)
    with db.transaction():
        SandboxStore(db).insert_operation(operation.id, gone.id, "delete", is_write=True)
        OperationStore(db).finish(operation.id, OperationState.succeeded, sealed_json())
        SandboxStore(db).move(gone.id, before=gone.state, after=SandboxState.deleted)
    clock.shift(31 * DAY_S)

    clean(db)

    assert [row["id"] for row in db.query("SELECT id FROM sandboxes")] == [living.id]
    assert count(db, "sandbox_operations") == 0


def test_a_message_that_waits_to_be_sent_is_not_deleted(
    db: Database, clock: "time_machine.Traveller"
) -> None:
    with db.transaction():
        OutboxStore(db).enqueue(key="k", kind=OutboxKind.final, content=sealed("hello"))
    clock.shift(60 * DAY_S)

    clean(db)

    assert count(db, "outbox_messages") == 1


def test_under_disk_pressure_messages_go_earlier_and_nothing_else_does(
    db: Database, clock: "time_machine.Traveller"
) -> None:
    stored(db, "old")
    make_audit(db)
    clock.shift(8 * DAY_S)
    stored(db, "new")

    Retention(db, RetentionAges(message_ms=7 * DAY_S * 1000)).clean_up()

    left = db.query("SELECT content FROM group_messages")
    assert [row["content"] for row in left] == ["new"]
    assert count(db, "audit_events") == 1
