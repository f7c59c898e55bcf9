"""One ticket in many hands: decided once, spent once, whoever is faster in the database."""

import threading
from collections import Counter
from collections.abc import Callable
from functools import partial
from pathlib import Path

import pytest

from perlica.domain.approval import digest_code
from perlica.domain.cancel import CancelToken
from perlica.domain.clock import now_ms
from perlica.domain.errors import PerlicaError
from perlica.domain.ids import GroupId, RowId, TicketId, UserId
from perlica.domain.plan import ActionPlan, Level, hash_plan
from perlica.domain.texts import Language
from perlica.gateway.core.caller import CommandCaller
from perlica.gateway.core.execution import Execution, PlanRunner
from perlica.gateway.core.tickets import TicketIssuer
from perlica.gateway.core.tool import Planned
from perlica.gateway.core.work import Change, ToolResult
from perlica.gateway.known_actions import CATALOG
from perlica.stores.approvals import ApprovalStore
from perlica.stores.database import Database
from perlica.stores.migrations import check_target, migrate
from tests.printing import printer
from tests.race.rounds import at_once
from tests.suite.sample import Sample

GROUP, SELF, OWNER, OTHER = GroupId(1), UserId(10), UserId(20), UserId(21)
OWNERS = frozenset({OWNER, OTHER})


class Hand:
    """One thread's connection, and what it may do with a ticket."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self.ends: list[str] = []

    def decide(self, ticket: TicketId, decision: str, user: UserId, digest: str) -> None:
        with Database.open(self._path) as database, database.transaction():
            verdict, _ = ApprovalStore(database).decide(
                ticket,
                decision="approved" if decision == "approved" else "denied",
                user=user,
                code_digest=digest,
                now_ms=now_ms(),
                owners_today=OWNERS,
            )
        self.ends.append(verdict.value)

    def execute(self, ticket: TicketId, planned: Planned) -> None:
        with Database.open(self._path) as database:
            found = ApprovalStore(database).find_ticket(ticket)
            execution = Execution(planned=planned, caller=_caller(), level=Level.high, ticket=found)
            PlanRunner(database=database, executors={}).execute(execution, CancelToken())

    def expire(self) -> None:
        with Database.open(self._path) as database, database.transaction():
            ApprovalStore(database).expire_due(now_ms() + 600_000)

    def void(self, ticket: TicketId) -> None:
        with Database.open(self._path) as database:
            try:
                with database.transaction():
                    ApprovalStore(database).void(ticket)
            except PerlicaError as error:
                self.ends.append(error.code)


@pytest.fixture
def path(tmp_path: Path) -> Path:
    """A database of its own."""
    path = tmp_path / "state" / "perlica.db"
    path.parent.mkdir(mode=0o700)
    migrate(path)
    with Database.open(path) as database:
        check_target(database, GROUP, SELF)
    return path


def _caller(row: int = 1) -> CommandCaller:
    return CommandCaller(message_row=RowId(row), user=OWNER, group_id=GROUP)


def _plan(run: Callable[[], ToolResult], number: int) -> Planned:
    plan = ActionPlan(
        action="sandbox.delete",
        origin=_caller().origin,
        identity="test",
        target={"sandbox": f"box{number}"},
        scope="sandbox",
        effect={},
        destination="nowhere",
        expected="done",
        policy_version="1",
    )
    return Planned(plan=plan, work=Change(run=lambda _: run()))


def _ask(path: Path, planned: Planned) -> tuple[TicketId, str]:
    """A pending ticket and the digest of its code."""
    with Database.open(path) as database:
        desk = TicketIssuer(database=database, owners=OWNERS, language=Language.zh, actions=CATALOG)
        ticket = desk.ask(_caller(), planned.plan)
        row = database.query_one("SELECT content FROM outbox_messages ORDER BY id DESC LIMIT 1")
    assert row is not None
    code = str(row["content"]).split(f".approve {ticket} ")[1][:6]
    return ticket, digest_code(ticket, code)


@pytest.mark.evidence(9)
@pytest.mark.timeout(300)
def test_a_ticket_is_decided_once_however_many_connections_decide_it(
    path: Path, pytestconfig: pytest.Config, sample: Sample
) -> None:
    seen: Counter[str] = Counter()
    rounds = sample.rounds("tickets")
    for number in range(rounds):
        ticket, digest = _ask(path, _plan(lambda: ToolResult(text="", source=""), number))
        hands = [Hand(path) for _ in range(3)]

        at_once(
            [
                partial(hands[0].decide, ticket, "approved", OWNER, digest),
                partial(hands[1].decide, ticket, "approved", OTHER, digest),
                partial(hands[2].decide, ticket, "denied", OWNER, digest),
            ]
        )

        ends = [end for hand in hands for end in hand.ends]
        assert (
            sorted(ends)[:2] == ["already_decided", "already_decided"]
            or ends.count("already_decided") == 2
        )
        seen.update(end for end in ends if end != "already_decided")
    printer(pytestconfig)(f"first in the database: {dict(seen)}")
    assert sum(seen.values()) == rounds


@pytest.mark.evidence(14)
@pytest.mark.timeout(300)
def test_an_approved_ticket_is_spent_once_or_dies_once(
    path: Path, pytestconfig: pytest.Config, sample: Sample
) -> None:
    done: list[int] = []
    seen: Counter[str] = Counter()
    lock = threading.Lock()
    rounds = sample.rounds("tickets")
    for number in range(rounds):

        def run(number: int = number) -> ToolResult:
            with lock:
                done.append(number)
            return ToolResult(text="done", source="test")

        planned = _plan(run, number)
        ticket, digest = _ask(path, planned)
        Hand(path).decide(ticket, "approved", OWNER, digest)
        hands = [Hand(path) for _ in range(4)]

        at_once(
            [
                partial(hands[0].execute, ticket, planned),
                partial(hands[1].execute, ticket, planned),
                hands[2].expire,
                partial(hands[3].void, ticket),
            ]
        )

        with Database.open(path) as database:
            found = ApprovalStore(database).find_ticket(ticket)
        assert found is not None
        assert found.plan_hash == hash_plan(planned.plan)
        seen[found.state.value] += 1
        assert done.count(number) == (1 if found.state.value == "consumed" else 0)
    printer(pytestconfig)(f"an approved ticket ended: {dict(seen)}")
    assert sum(seen.values()) == rounds
