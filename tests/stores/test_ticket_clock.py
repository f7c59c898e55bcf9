"""A wall clock that is set back prolongs no ticket; a small correction ends none."""

import pytest
import time_machine

from perlica.domain.approval import Verdict
from perlica.domain.clock import now_ms
from perlica.domain.errors import StaleState
from perlica.stores.approvals import ApprovalStore
from perlica.stores.database import Database
from tests.stores.rows import approve, draw
from tests.stores.test_approvals import consume, say


@pytest.mark.evidence(9)
def test_a_ticket_from_the_future_is_over_because_the_clock_was_set_back(db: Database) -> None:
    with time_machine.travel(1_800_000_000, tick=False) as clock:
        pending, approved = draw(db), draw(db)
        approve(db, approved)
        clock.shift(-3600)

        verdict, _ = say(db, pending.id)
        with pytest.raises(StaleState):
            consume(db, approved.id)
        with db.transaction():
            expired = ApprovalStore(db).expire_due(now_ms())

    assert verdict is Verdict.expired
    assert {ticket.id for ticket in expired} == {pending.id, approved.id}


def test_a_small_correction_of_the_clock_leaves_a_fresh_ticket_alive(db: Database) -> None:
    with time_machine.travel(1_800_000_000, tick=False) as clock:
        ticket = draw(db)
        clock.shift(-2)

        assert not ApprovalStore(db).has_due(now_ms())
        assert say(db, ticket.id)[0] is Verdict.approved
