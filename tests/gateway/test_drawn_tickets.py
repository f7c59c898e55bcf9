"""What is drawn for a ticket may read like a credential by accident; it is asked all the same."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from perlica.domain.errors import Refused
from perlica.domain.ids import GroupId, RowId, TicketId, UserId
from perlica.domain.plan import ActionPlan
from perlica.domain.texts import Language
from perlica.gateway.core import tickets
from perlica.gateway.core.caller import CommandCaller
from perlica.gateway.core.tickets import TicketIssuer
from perlica.gateway.known_actions import CATALOG
from perlica.stores.database import Database
from perlica.stores.migrations import check_target, migrate

OWNER = UserId(20)
CALLER = CommandCaller(message_row=RowId(1), user=OWNER, group_id=GroupId(1))
LIKE_A_PASSWORD = TicketId("93PWD")


@pytest.fixture
def database(tmp_path: Path) -> Iterator[Database]:
    migrate(tmp_path / "perlica.db")
    with Database.open(tmp_path / "perlica.db") as db:
        check_target(db, GroupId(1), UserId(10))
        yield db


def plan_for(sandbox: str) -> ActionPlan:
    return ActionPlan(
        action="sandbox.delete",
        origin=CALLER.origin,
        identity="sandboxd",
        target={"sandbox": sandbox},
        scope="sandbox",
        effect={"files": "destroyed"},
        destination="node:node-1",
        expected="delete",
        policy_version="1",
    )


def issuer_over(database: Database) -> TicketIssuer:
    return TicketIssuer(
        database=database, owners=frozenset({OWNER}), language=Language.zh, actions=CATALOG
    )


def draw(monkeypatch: pytest.MonkeyPatch, *ids: str) -> list[str]:
    left = list(ids)
    monkeypatch.setattr(tickets, "new_ticket_id", lambda: TicketId(left.pop(0)))
    monkeypatch.setattr(tickets, "new_ticket_code", lambda: "640037")
    return left


def test_an_id_that_reads_like_a_label_of_a_password_is_drawn_again(
    database: Database, monkeypatch: pytest.MonkeyPatch
) -> None:
    left = draw(monkeypatch, LIKE_A_PASSWORD, "K7Q2M")

    asked = issuer_over(database).ask(CALLER, plan_for("main"))

    assert (asked, left) == ("K7Q2M", [])
    assert database.query("SELECT id FROM approvals") == [{"id": "K7Q2M"}]
    (row,) = database.query("SELECT content FROM outbox_messages")
    assert ".approve K7Q2M 640037" in row["content"]


def test_a_question_that_no_draw_makes_showable_is_refused_and_leaves_nothing(
    database: Database, monkeypatch: pytest.MonkeyPatch
) -> None:
    left = draw(monkeypatch, *[LIKE_A_PASSWORD] * 5)

    with pytest.raises(Refused, match="plan_cannot_be_shown"):
        issuer_over(database).ask(CALLER, plan_for("main"))

    assert left == []
    assert database.query("SELECT id FROM approvals") == []
    assert database.query("SELECT id FROM outbox_messages") == []
