"""However a ticket dies, what waited for it goes on at once and nobody is told that it waits."""

import re
from collections.abc import Callable
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path

import pytest
import time_machine

import perlica
from actors.base import tell_safely
from actors.messages import ApprovalUndeliverable, Tick
from perlica.demo.model import Reply, ScriptedModel
from perlica.demo.napcat import Message, NapCatStandIn
from perlica.domain.approval import LIVING_STATES, TicketState
from perlica.domain.ids import TaskId, TicketId
from perlica.stores.backup import back_up, restore_backup
from perlica.stores.database import Database
from perlica.stores.views.tickets import TicketFilter, list_tickets
from tests.behaviour.asking import APPROVE, ask_for_delete, create
from tests.behaviour.live import (
    OTHER_OWNER,
    OWNER,
    LivePerlica,
    is_final,
    live_config,
    wait_until,
)

PACKAGE = Path(perlica.__file__).parent
SOON_S = 20.0
"""Far below the ten minutes of a ticket, also on a busy machine."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Scene:
    """A service whose task waits for a ticket."""

    live: LivePerlica
    model: ScriptedModel
    napcat: NapCatStandIn
    directory: Path
    question: Message
    ticket: str
    code: str


def _enter_wrong_codes(scene: Scene) -> None:
    wrong = f"{(int(scene.code) + 1) % 1_000_000:06d}"
    told = ""
    for _ in range(5):
        said = scene.napcat.say(OWNER, f".approve {scene.ticket} {wrong}")
        told = scene.napcat.wait_for_reply(lambda m: f"qq={OWNER}" in m.raw, after=said).text
    assert "已经锁定" in told


def _deny(scene: Scene) -> None:
    scene.napcat.say(OWNER, f".deny {scene.ticket}")


def _cancel(scene: Scene) -> None:
    scene.napcat.say(OWNER, ".cancel")


def _approve(scene: Scene) -> None:
    scene.napcat.say(OWNER, f".approve {scene.ticket} {scene.code}")


def _approve_what_is_gone(scene: Scene) -> None:
    with Database.open(scene.live.path) as database, database.transaction():
        database.change("UPDATE sandboxes SET state = 'lost', slot = NULL, ended_at_ms = 1")
    _approve(scene)


def _let_expire(scene: Scene) -> None:
    """Its ten minutes are over; the ledger's own clock comes round."""
    ledger = scene.live.wires.ledger
    assert ledger is not None
    with Database.open(scene.live.path) as database:
        row = database.query_one("SELECT expires_at_ms FROM approvals")
    assert row is not None

    over = datetime.fromtimestamp(row["expires_at_ms"] / 1000 + 1, UTC)
    with time_machine.travel(over, tick=True):
        ledger.ask(Tick(), timeout=SOON_S)


def _lose_the_question(scene: Scene) -> None:
    with Database.open(scene.live.path, read_only=True) as database:
        row = database.query_one("SELECT task_id FROM approvals")
    assert row is not None
    lost = ApprovalUndeliverable(ticket=TicketId(scene.ticket), task=TaskId(row["task_id"]))
    tell_safely(scene.live.wires.coordinator, lost)


def _restart_with(scene: Scene, owners: tuple[int, ...], members: tuple[int, ...]) -> None:
    scene.live.stop()
    config = live_config(scene.directory, scene.napcat, scene.model.base_url)
    people = config.members.model_copy(update={"owners": owners, "members": members})
    scene.live.config = config.model_copy(update={"members": people})
    scene.live.start()
    scene.napcat.wait_for_connection()


def _remove_all_who_were_asked(scene: Scene) -> None:
    _restart_with(scene, (40001,), (OWNER, OTHER_OWNER))


def _remove_who_approved(scene: Scene) -> None:
    scene.live.stop()
    with Database.open(scene.live.path) as database, database.transaction():
        database.change(
            "UPDATE approvals SET state = 'approved', decided_by = :owner,"
            " decided_at_ms = created_at_ms WHERE state = 'pending'",
            {"owner": OTHER_OWNER},
        )
    _restart_with(scene, (OWNER,), (OTHER_OWNER,))


def _forbid_deletions(scene: Scene) -> None:
    policy = scene.directory / "policy.toml"
    packaged = (PACKAGE / "gateway" / "policy.toml").read_text()
    without = packaged.replace('"sandbox.delete" = ["sandbox"]\n', "")
    policy.write_text(re.sub(r'(?m)^version = ".*"', 'version = "forbids"', without))
    scene.live.stop()
    config = live_config(scene.directory, scene.napcat, scene.model.base_url)
    changed = config.policy.model_copy(update={"file": policy})
    scene.live.config = config.model_copy(update={"policy": changed})
    scene.live.start()
    scene.napcat.wait_for_connection()
    _approve(scene)


def _recall_the_request(scene: Scene) -> None:
    said = scene.napcat.kernel.readable(scene.napcat.group_id)
    (request,) = [m for m in said if "把 main 删掉" in m.text]
    scene.napcat.recall(request)


WAYS: dict[str, tuple[TicketState, Callable[[Scene], None]]] = {
    "five wrong codes": (TicketState.void, _enter_wrong_codes),
    "denied": (TicketState.denied, _deny),
    "spent": (TicketState.consumed, _approve),
    "expired": (TicketState.expired, _let_expire),
    "task cancelled": (TicketState.void, _cancel),
    "request recalled": (TicketState.void, _recall_the_request),
    "question undeliverable": (TicketState.void, _lose_the_question),
    "its target is gone": (TicketState.void, _approve_what_is_gone),
    "everybody asked is no Owner any more": (TicketState.void, _remove_all_who_were_asked),
    "who approved is no Owner any more": (TicketState.void, _remove_who_approved),
    "the policy changed": (TicketState.void, _forbid_deletions),
}


def test_every_state_in_which_a_ticket_is_dead_has_a_way_there() -> None:
    dead = set(TicketState) - LIVING_STATES

    assert {state for state, _ in WAYS.values()} == dead


@pytest.mark.evidence(9)
@pytest.mark.parametrize("way", WAYS)
def test_a_ticket_that_dies_ends_the_wait_at_once_and_is_listed_no_more(
    live: LivePerlica, model: ScriptedModel, napcat: NapCatStandIn, tmp_path: Path, way: str
) -> None:
    question, ticket, code = ask_for_delete(napcat, model)
    model.add(*[Reply(text="知道了")] * 2)
    scene = Scene(
        live=live,
        model=model,
        napcat=napcat,
        directory=tmp_path,
        question=question,
        ticket=ticket,
        code=code,
    )
    state, kill = WAYS[way]

    kill(scene)

    ended = "SELECT count(*) FROM tasks WHERE ended_at_ms IS NOT NULL"
    wait_until(lambda: live.count(ended) == 1, SOON_S, what=way)
    with live.database() as database:
        (row,) = database.query("SELECT state FROM approvals")
        waiting = list_tickets(database, TicketFilter.living, limit=10)
        told = database.query("SELECT * FROM audit_events WHERE kind LIKE 'ticket.%'")
    assert {audited["ticket_id"] for audited in told} == {ticket}
    assert row["state"] == state
    assert waiting == ()
    asks = 40001 if "everybody" in way else OWNER
    said = napcat.say(asks, ".status")
    status = napcat.wait_for_reply(lambda m: "【状态】" in m.text, after=said)
    assert ticket not in status.text
    assert "空闲" in status.text


@pytest.mark.evidence(9)
def test_a_restored_database_waits_for_no_ticket(
    live: LivePerlica, model: ScriptedModel, napcat: NapCatStandIn, tmp_path: Path
) -> None:
    ask_for_delete(napcat, model)
    with Database.open(live.path) as database:
        backup = back_up(database, tmp_path / "backups")
    live.stop()

    restored = tmp_path / "restored.sqlite3"
    restore_backup(backup.path, restored)

    with Database.open(restored, read_only=True) as database:
        states = {row["state"] for row in database.query("SELECT state FROM approvals")}
        alive = database.query("SELECT id FROM tasks WHERE ended_at_ms IS NULL")
    assert states == {"void"}
    assert alive == []


def test_the_fifth_wrong_code_says_that_the_ticket_is_closed_and_so_does_the_right_one_after_it(
    live: LivePerlica, model: ScriptedModel, napcat: NapCatStandIn
) -> None:
    _, ticket, code = ask_for_delete(napcat, model)
    model.add(Reply(text="没有删"))
    wrong = f"{(int(code) + 1) % 1_000_000:06d}"

    told = []
    for given in [wrong] * 5 + [code]:
        said = napcat.say(OWNER, f".approve {ticket} {given}")
        answer = napcat.wait_for_reply(
            lambda m: f"qq={OWNER}" in m.raw and ticket in m.text, after=said
        )
        told.append("短码不对" if "短码不对" in answer.text else answer.text)

    assert told[:4] == ["短码不对"] * 4
    assert "已经锁定" in told[4]
    assert "已经锁定" in told[5]
    wait_until(lambda: "too many wrong codes" in model.requests[-1]["messages"][-1]["content"])


@pytest.mark.evidence(9)
def test_an_order_whose_question_cannot_be_delivered_is_said_to_be_void(
    live: LivePerlica, model: ScriptedModel, napcat: NapCatStandIn
) -> None:
    model.add(Reply(calls=(create(),)), Reply(text="好"))
    made = napcat.say(OWNER, "建一个", mention=True)
    napcat.wait_for_reply(is_final, after=made)
    ordered = napcat.say(OWNER, ".sbx delete main")
    question = napcat.wait_for_reply(lambda m: bool(APPROVE.search(m.text)), after=ordered)
    ticket = question.text.split()[-2]

    lost = ApprovalUndeliverable(ticket=TicketId(ticket), task=None)
    tell_safely(live.wires.coordinator, lost)

    void = napcat.wait_for_reply(lambda m: "已作废" in m.text, after=question)
    said = napcat.say(OWNER, ".status")
    status = napcat.wait_for_reply(lambda m: "【状态】" in m.text, after=said)
    assert ticket in void.text
    assert ticket not in status.text
