"""The ledger tells the coordinator of every decision that ends a wait, and of no other."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pykka
import pytest

from actors.base import Alarm, PerlicaActor, Wires
from actors.ledger.actor import ApprovalLedger
from actors.messages import Decide, Ready, TicketDecided
from perlica.domain.approval import Verdict, digest_code
from perlica.domain.ids import TicketId
from perlica.domain.texts import Language
from perlica.gateway.known_actions import CATALOG
from perlica.stores.approvals import MAX_ATTEMPTS
from perlica.stores.commands import CommandStore
from perlica.stores.database import Database
from tests.stores.rows import CODE, OWNER, SECOND_OWNER, STRANGER, draw, stored

OWNERS = frozenset({OWNER, SECOND_OWNER})
WITHIN_S = 10.0


class Listener(PerlicaActor):
    """Keeps what it hears."""

    def __init__(self, heard: list[object]) -> None:
        """Keep it in this list."""
        super().__init__(name="listener", alarm=Alarm())
        self._heard = heard

    def handle(self, message: object) -> object:
        """Keep a message."""
        self._heard.append(message)
        return None


class Stage:
    """A ledger over a database, and what the coordinator would hear."""

    def __init__(self, path: Path, db: Database) -> None:
        """Start both actors."""
        self.db = db
        self.heard: list[object] = []
        self.listener: pykka.ActorRef[Any] = Listener.start(self.heard)
        self.ledger: pykka.ActorRef[Any] = ApprovalLedger.start(
            database_path=path,
            owners=OWNERS,
            language=Language.zh,
            actions=CATALOG,
            wires=Wires(coordinator=self.listener),
            alarm=Alarm(),
        )
        self.ledger.ask(Ready(), timeout=WITHIN_S)

    def say(self, name: str, ticket: TicketId, code: str = "", user: int = OWNER) -> None:
        """A member's `.approve` or `.deny`, decided and told."""
        row = stored(self.db, f".{name}", kind="control")
        given = {"ticket": ticket, "code_digest": digest_code(ticket, code)}
        arguments = given if code else {"ticket": ticket}
        with self.db.transaction():
            CommandStore(self.db).insert_command(row, user, name, arguments)  # type: ignore[arg-type]
        self.ledger.ask(Decide(message_row=row), timeout=WITHIN_S)

    def bells(self) -> list[TicketId]:
        """The tickets whose end was told so far."""
        self.listener.ask(Ready(), timeout=WITHIN_S)
        return [one.ticket for one in self.heard if isinstance(one, TicketDecided)]


@pytest.fixture
def stage(path: Path, db: Database) -> Iterator[Stage]:
    made = Stage(path, db)
    yield made
    for actor in (made.ledger, made.listener):
        actor.stop(block=True, timeout=WITHIN_S)


@pytest.mark.evidence(9)
def test_only_the_fifth_wrong_code_rings_and_it_rings_at_once(stage: Stage) -> None:
    ticket = draw(stage.db)

    for number in range(1, MAX_ATTEMPTS + 1):
        stage.say("approve", ticket.id, "000000")
        assert stage.bells() == ([ticket.id] if number == MAX_ATTEMPTS else [])


@pytest.mark.parametrize(("name", "code"), [("approve", CODE), ("deny", "")])
def test_an_owners_decision_rings_at_once(stage: Stage, name: str, code: str) -> None:
    ticket = draw(stage.db)

    stage.say(name, ticket.id, code)

    assert stage.bells() == [ticket.id]


def test_what_decides_nothing_rings_for_nobody(stage: Stage) -> None:
    ticket = draw(stage.db)

    stage.say("approve", ticket.id, CODE, user=STRANGER)
    stage.say("approve", TicketId("ZZZZZ"), CODE)
    stage.say("deny", TicketId("ZZZZZ"))

    assert stage.bells() == []


@pytest.mark.evidence(12)
def test_every_decision_stands_in_the_audit_with_its_ticket(stage: Stage) -> None:
    ticket = draw(stage.db)

    stage.say("approve", ticket.id, "000000")
    stage.say("deny", ticket.id)

    rows = stage.db.query(
        "SELECT ticket_id, actor, json_extract(detail, '$.verdict') AS verdict"
        " FROM audit_events WHERE kind = 'ticket.decision' ORDER BY id"
    )
    assert [dict(row) for row in rows] == [
        {"ticket_id": ticket.id, "actor": f"member:{OWNER}", "verdict": verdict.value}
        for verdict in (Verdict.wrong_code, Verdict.denied)
    ]
