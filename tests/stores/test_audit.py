"""The audit trail can be read back page by page and is never changed."""

import pytest

from perlica.domain.errors import Refused
from perlica.domain.plan import Level
from perlica.protection import not_scanned
from perlica.stores.audit import AuditStore
from perlica.stores.database import Database
from tests.stores.rows import begin_task, sealed_json


def test_events_are_read_newest_first_and_page_by_page(db: Database) -> None:
    audit = AuditStore(db)
    with db.transaction():
        ids = [
            audit.add_event("judged", actor="gateway", detail=sealed_json(n=n), level=Level.low)
            for n in range(3)
        ]

    first = audit.list_events(limit=2)
    second = audit.list_events(limit=2, before_id=first[-1].id)

    assert [event.id for event in (*first, *second)] == ids[::-1]
    assert first[0].detail.content == '{"n":2}'
    assert first[0].level is Level.low


def test_events_can_be_read_for_one_task_and_one_kind(db: Database) -> None:
    audit = AuditStore(db)
    task = begin_task(db).id
    with db.transaction():
        audit.add_event("executed", actor="gateway", detail=sealed_json(), task_id=task)
        audit.add_event("judged", actor="gateway", detail=sealed_json(), task_id=task)
        audit.add_event("executed", actor="reconciler", detail=sealed_json())

    of_task = audit.list_events(limit=9, task_id=task)
    of_both = audit.list_events(limit=9, task_id=task, kind="executed")

    assert [event.kind for event in of_task] == ["judged", "executed"]
    assert [event.actor for event in of_both] == ["gateway"]


@pytest.mark.evidence(6)
def test_an_event_whose_detail_could_not_be_scanned_is_not_lost(db: Database) -> None:
    with db.transaction():
        AuditStore(db).add_event("executed", actor="gateway", detail=not_scanned())

    (event,) = AuditStore(db).list_events(limit=1)

    assert event.detail.content == '{"withheld":"not_scanned"}'


@pytest.mark.evidence(12)
def test_an_event_cannot_be_changed_even_by_raw_sql(db: Database) -> None:
    with db.transaction():
        AuditStore(db).add_event("executed", actor="gateway", detail=sealed_json())

    with pytest.raises(Refused, match="never changed"), db.transaction():
        db.query("UPDATE audit_events SET actor = 'nobody'")
