"""A ticket's ten minutes hold by the monotonic clock too, whatever becomes of the wall clock."""

from dataclasses import replace

import pytest

from actors.ledger.ticket_timer import TicketTimer
from tests.commands.tickets import pending_ticket

TICKET = replace(pending_ticket("K7Q2M", "123456"), created_at_ms=0, expires_at_ms=600_000)
LATER = replace(pending_ticket("H3R8T", "654321"), created_at_ms=0, expires_at_ms=600_000)


@pytest.mark.evidence(9)
def test_a_ticket_that_lived_its_ten_minutes_is_over_though_the_wall_clock_went_back() -> None:
    timer = TicketTimer()

    assert timer.outlived([TICKET], 50.0) == ()
    assert timer.outlived([TICKET, LATER], 649.9) == ()
    assert timer.outlived([TICKET, LATER], 650.0) == (TICKET.id,)
    assert timer.outlived([LATER], 651.0) == ()
    assert timer.outlived([LATER], 1249.9) == (LATER.id,)
