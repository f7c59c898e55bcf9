"""What an Owner ordered by a command names him on its pages."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from perlica.domain.approval import digest_code
from perlica.domain.ids import OperationId, TicketId
from perlica.domain.plan import Origin
from perlica.stores.approvals import NewTicket
from perlica.stores.commands import CommandStore
from perlica.stores.database import Database
from tests.console.people import Person
from tests.console.seeder import GROUP, HASH, OTHER_OWNER, OWNER, Seeder, sealed, sealed_json

TICKET = TicketId("K7Q2M")
MESSAGE = 31
"""The row that the seeder's operations without a task come from."""


@pytest.fixture
def seeder(path: Path) -> Iterator[Seeder]:
    """Writes into the database that `viewer` looks at."""
    with Database.open(path) as db:
        yield Seeder(db)


def _order(seeder: Seeder) -> OperationId:
    """OWNER ordered a deletion: a question and an executed operation."""
    rows = [seeder.say(".sbx delete main") for _ in range(MESSAGE)]
    assert rows[-1] == MESSAGE
    with seeder.db.transaction():
        CommandStore(seeder.db).insert_command(
            rows[-1], OWNER, "sbx", {"action": "delete", "name": "main"}
        )
        seeder.tickets.insert_ticket(
            NewTicket(
                id=TICKET,
                group_id=GROUP,
                origin=Origin(kind="command", id=str(MESSAGE)),
                task_id=None,
                call_id=None,
                action="sandbox.delete",
                plan_hash=HASH,
                plan=sealed_json({"action": "sandbox.delete"}),
                target_summary=sealed("sandbox.delete sandbox=main"),
                owners=frozenset({OWNER, OTHER_OWNER}),
                code_digest=digest_code(TICKET, "123456"),
            )
        )
    plan = {"action": "sandbox.delete"}
    return seeder.execute(None, None, action="sandbox.delete", plan={**plan}, outcome={})


def test_a_ticket_and_an_operation_name_the_owner_whose_command_they_come_from(
    viewer: Person, seeder: Seeder
) -> None:
    operation = _order(seeder)

    for page in (f"/tickets/{TICKET}", f"/operations/{operation}"):
        assert f"来自 Owner {OWNER} 的命令（消息 {MESSAGE}）" in viewer.read(page)


def test_an_order_whose_message_is_forgotten_still_says_that_it_was_a_command(
    viewer: Person, seeder: Seeder
) -> None:
    operation = _order(seeder)
    with seeder.db.transaction():
        seeder.db.change("DELETE FROM commands", {})

    for page in (f"/tickets/{TICKET}", f"/operations/{operation}"):
        assert f"来自 命令消息 {MESSAGE}" in viewer.read(page)
