"""`/metrics`: counted from real rows, with words of ours as labels, and never any content."""

import re

from hypothesis import given
from hypothesis import strategies as st

from perlica.domain.clock import now_ms
from perlica.domain.operation import OperationState
from perlica.domain.outbox import OutboxKind
from perlica.domain.task import TaskState
from perlica.health.words import OTHER, Words
from perlica.protection import Channel, protect
from perlica.stores.approvals import ApprovalStore
from perlica.stores.audit import AuditStore
from perlica.stores.backup import back_up
from perlica.stores.database import Database
from perlica.stores.operations import OperationStore
from perlica.stores.outbox import OutboxStore
from perlica.stores.tasks import TaskStore
from tests.health.conftest import MakeSite, Site
from tests.stores import rows

KEY = "sk-proj-" + "Zx9Qw8Er7Ty6Ui5Op4As3Df2Gh1Jk0LmNbVcXz12345678"


def test_the_program_says_what_it_is(site: Site) -> None:
    labels = 'config="abcdef012345",policy="1",schema="7",version="0.1.0"'

    assert site.samples()[f"perlica_info{{{labels}}}"] == 1


def test_messages_are_counted_by_kind_from_the_start_on(db: Database, make_site: MakeSite) -> None:
    rows.stored(db, "of an earlier process")
    site = make_site()
    rows.stored(db, "one")
    rows.stored(db, "two")
    rows.stored(db, ".status", kind="control")

    samples = site.samples()

    assert samples['perlica_messages_total{kind="chat"}'] == 2
    assert samples['perlica_messages_total{kind="control"}'] == 1
    assert samples["perlica_intake_delay_seconds_count"] == 3
    assert samples["perlica_message_stored_timestamp_seconds"] > 0


def test_a_row_is_counted_once_however_often_it_is_looked_at(db: Database, site: Site) -> None:
    rows.stored(db, "one")
    first = site.samples()
    second = site.samples()

    assert first['perlica_messages_total{kind="chat"}'] == 1
    assert second['perlica_messages_total{kind="chat"}'] == 1


def test_what_retention_deletes_stays_counted(db: Database, site: Site) -> None:
    rows.stored(db, "one")
    before = site.samples()
    with db.transaction():
        db.change("DELETE FROM group_messages")
    rows.stored(db, "two")

    assert before['perlica_messages_total{kind="chat"}'] == 1
    assert site.samples()['perlica_messages_total{kind="chat"}'] == 2


def test_redactions_are_counted_by_kind_and_place_without_their_text(
    db: Database, site: Site
) -> None:
    content = protect(f"key {KEY} and again {KEY}, password: hunter2-Correct9!", Channel.MESSAGE)
    kinds = set(re.findall("凭据:([a-z0-9_]+):", content.content))
    rows.store(db, rows.message("x"), content=content)
    with db.transaction():
        OutboxStore(db).enqueue(key="k", kind=OutboxKind.final, content=content)
        row = OutboxStore(db).next_due(2**60)
        assert row is not None
        OutboxStore(db).begin_attempt(row.id, "echo", "0" * 64, now_ms())
        OutboxStore(db).mark_sent(row.id, None)

    text = site.get("/metrics").text
    samples = site.samples()

    assert kinds
    for kind in kinds:
        assert samples[f'perlica_redactions_total{{kind="{kind}",place="message"}}'] == 1
        assert samples[f'perlica_redactions_total{{kind="{kind}",place="sent"}}'] == 1
    assert KEY not in text
    assert "hunter2" not in text


def test_a_message_that_could_not_be_scanned_is_counted_as_such(db: Database, site: Site) -> None:
    endless = protect("\ud800 half a pair", Channel.MESSAGE)
    assert not endless.is_usable
    rows.store(db, rows.message("x"), content=endless)

    assert site.samples()["perlica_messages_unscanned_total"] == 1


def test_the_living_task_shows_its_state_and_its_end_is_counted(db: Database, site: Site) -> None:
    task = rows.begin_task(db)
    rows.move(db, task.id, TaskState.contextualizing, TaskState.running)
    living = site.samples()
    with db.transaction():
        TaskStore(db).add_usage(task.id, model_calls=3, tool_calls=2, input_tokens=70)
    rows.end_task(db, task.id)
    ended = site.samples()

    assert living['perlica_task_active{state="running"}'] == 1
    assert living['perlica_task_active{state="waiting_approval"}'] == 0
    assert 'perlica_tasks_ended_total{reason="other",state="cancelled"}' not in living
    assert ended['perlica_task_active{state="running"}'] == 0
    assert ended["perlica_task_seconds_count"] == 1
    assert ended["perlica_model_calls_total"] == 3
    assert ended['perlica_tokens_total{direction="input"}'] == 70


def test_a_task_that_was_alive_at_the_start_is_counted_when_it_ends(
    db: Database, make_site: MakeSite
) -> None:
    task = rows.begin_task(db)
    site = make_site()
    rows.end_task(db, task.id)

    assert site.samples()["perlica_task_seconds_count"] == 1


def test_an_unknown_operation_stands_in_the_recovery_queue_until_it_is_settled(
    db: Database, site: Site
) -> None:
    operation = rows.queue(db)
    rows.start(db, operation.id)
    with db.transaction():
        OperationStore(db).mark_unknown(operation.id, "crashed")
    unknown = site.samples()
    with db.transaction():
        OperationStore(db).finish(
            operation.id, OperationState.succeeded, rows.sealed_json(exit_code=0)
        )
    settled = site.samples()
    ended = 'perlica_operations_ended_total{action="sandbox.exec",state="succeeded"}'

    assert unknown['perlica_operations_open{state="unknown"}'] == 1
    assert ended not in unknown
    assert settled['perlica_operations_open{state="unknown"}'] == 0
    assert settled[ended] == 1


def test_tickets_are_shown_while_they_wait_and_counted_when_they_are_spent(
    db: Database, site: Site
) -> None:
    ticket = rows.draw(db)
    waiting = site.samples()
    rows.approve(db, ticket)
    rows.spend(db, ticket)
    useless = rows.draw(db)
    with db.transaction():
        ApprovalStore(db).void(useless.id)
    spent = site.samples()

    assert waiting["perlica_tickets_pending"] == 1
    assert spent["perlica_tickets_pending"] == 0
    assert spent['perlica_tickets_total{outcome="consumed"}'] == 1
    assert spent['perlica_tickets_total{outcome="void"}'] == 1
    assert spent["perlica_ticket_decision_seconds_count"] == 1


def test_sends_are_counted_by_how_they_ended(db: Database, site: Site) -> None:
    outbox = OutboxStore(db)
    with db.transaction():
        (row,) = outbox.enqueue(key="a", kind=OutboxKind.busy, content=rows.sealed("busy"))
    waiting = site.samples()
    with db.transaction():
        outbox.mark_refused(row, "muted")
    settled = site.samples()

    assert waiting['perlica_outbox_open{state="queued"}'] == 1
    assert settled['perlica_sends_total{kind="busy",outcome="refused"}'] == 1
    assert settled['perlica_outbox_open{state="queued"}'] == 0


def test_refusals_are_counted_by_their_code(db: Database, site: Site) -> None:
    with db.transaction():
        for code in ("blocked", "blocked", "no such code, but a text"):
            AuditStore(db).add_event(
                "call.refused", actor="task:T-1", detail=rows.sealed_json(code=code)
            )
    samples = site.samples()

    assert samples['perlica_refusals_total{code="blocked"}'] == 2
    assert samples['perlica_refusals_total{code="other"}'] == 1
    assert samples['perlica_audit_events_total{kind="call.refused"}'] == 3


def test_sandbox_capacity_counts_what_holds_a_slot(db: Database, site: Site) -> None:
    rows.reserve(db, "dev")

    samples = site.samples()

    assert samples['perlica_sandboxes{state="creating"}'] == 1
    assert samples["perlica_sandbox_slots_free"] == 2


def test_the_disk_the_database_and_the_last_backup_are_measured(db: Database, site: Site) -> None:
    none_yet = site.samples()
    made = back_up(db, site.path.parent.parent / "backups")
    samples = site.samples()

    assert none_yet["perlica_last_backup_timestamp_seconds"] == 0
    assert samples["perlica_last_backup_timestamp_seconds"] == made.made_at_ms / 1000
    assert samples["perlica_last_backup_bytes"] == made.size_bytes
    assert samples["perlica_database_bytes"] > 0
    assert samples["perlica_disk_free_bytes"] > samples["perlica_disk_wanted_bytes"] == 1024


def test_actors_queues_and_the_connection_are_as_the_facts_say(site: Site) -> None:
    site.process.queues["inbound"] = 17
    site.process.dropped |= {"other_groups": 7, "malformed": 5}
    site.process.actors["outbox"] = False
    site.process.fault = "offline"
    offline = site.samples()
    site.process.fault = ""
    again = site.samples()

    assert offline['perlica_queue_length{queue="inbound"}'] == 17
    assert again['perlica_frames_dropped_total{reason="other_groups"}'] == 7
    assert again['perlica_frames_dropped_total{reason="malformed"}'] == 5
    assert offline['perlica_actor_up{actor="outbox"}'] == 0
    assert offline['perlica_actor_up{actor="coordinator"}'] == 1
    assert offline['perlica_connection_fault{reason="offline"}'] == 1
    assert offline["perlica_connection_ready"] == 0
    assert again["perlica_connection_ready"] == 1
    assert 'perlica_connection_fault{reason="offline"}' not in again


def test_a_look_that_fails_says_so_and_keeps_the_other_figures(db: Database, site: Site) -> None:
    rows.stored(db, "one")
    before = site.samples()
    aside = site.path.with_name("aside")
    site.path.rename(aside)
    failed = site.samples()
    aside.rename(site.path)

    assert before["perlica_database_readable"] == 1
    assert failed["perlica_database_readable"] == 0
    assert failed['perlica_figures_failures_total{code="no_database"}'] == 1
    assert failed['perlica_messages_total{kind="chat"}'] == 1
    assert site.samples()["perlica_database_readable"] == 1


def test_asked_often_it_looks_at_the_database_once(db: Database, make_site: MakeSite) -> None:
    site = make_site(figures_every_s=300)
    assert site.samples()["perlica_figures_seconds_count"] == 1
    rows.stored(db, "one")

    samples = site.samples()

    assert samples["perlica_figures_seconds_count"] == 1
    assert samples['perlica_messages_total{kind="chat"}'] == 0


@given(st.lists(st.text() | st.integers() | st.none(), max_size=40))
def test_a_label_is_never_more_than_a_few_words_of_ours(values: list[object]) -> None:
    words = Words(5)
    given_out = {words.admit(value) for value in values}

    assert len(given_out - {OTHER}) <= 5
    assert all(re.fullmatch("[a-z][a-z0-9_.-]{0,39}", word) for word in given_out)
