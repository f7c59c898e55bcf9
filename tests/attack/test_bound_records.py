"""What the records name and what is looked at once more in the moment of use."""

from collections.abc import Mapping

import pytest

from perlica.demo.model import Reply, ScriptedModel
from perlica.demo.napcat import NapCatStandIn
from perlica.domain.cancel import CancelToken
from perlica.domain.plan import Level
from perlica.domain.policy import Policy
from perlica.gateway.core.gateway import Gateway, GivenCall
from perlica.gateway.core.outcomes import CallEnd
from perlica.stores.database import Database
from perlica.stores.tasks import Task
from perlica.stores.views.operations import find_operation
from perlica.stores.views.tickets import find_ticket
from tests.attack.test_approvals import DELETIONS, PENDING
from tests.behaviour.asking import APPROVE, ask_for_delete, create, run
from tests.behaviour.live import MEMBER, OTHER_OWNER, OWNER, LivePerlica, is_final, wait_until

OPERATIONS = "SELECT count(*) FROM operations"


def _rows(live: LivePerlica, sql: str) -> list[Mapping[str, object]]:
    with live.database() as database:
        return [dict(row) for row in database.query(sql)]


def _make_main(napcat: NapCatStandIn, model: ScriptedModel) -> None:
    model.add(Reply(calls=(create(),)), Reply(text="好"))
    asked = napcat.say(MEMBER, "建一个", mention=True)
    napcat.wait_for_reply(is_final, after=asked)


def _order_deletion(napcat: NapCatStandIn) -> tuple[str, str]:
    """The question that `.sbx delete main` led to, and the line that approves it."""
    said = napcat.say(OWNER, ".sbx delete main")
    question = napcat.wait_for_reply(lambda m: bool(APPROVE.search(m.text)), after=said)
    return question.text, question.text.splitlines()[-1]


@pytest.mark.evidence(9)
@pytest.mark.evidence(12)
def test_the_audit_of_an_approved_deletion_names_its_ticket_at_every_step(
    live: LivePerlica, model: ScriptedModel, napcat: NapCatStandIn
) -> None:
    question, ticket, code = ask_for_delete(napcat, model)
    model.add(Reply(text="删好了"))
    napcat.say(OTHER_OWNER, f".approve {ticket} 000000" if code != "000000" else ".status")
    napcat.say(OTHER_OWNER, f".approve {ticket} {code}")
    napcat.wait_for_reply(is_final, after=question)

    (operation,) = _rows(live, "SELECT * FROM operations WHERE action = 'sandbox.delete'")
    decisions = _rows(live, "SELECT * FROM audit_events WHERE kind LIKE 'ticket.%'")
    planned = _rows(
        live,
        "SELECT * FROM audit_events WHERE kind = 'operation.planned'"
        f" AND operation_id = '{operation['id']}'",
    )
    assert {row["kind"] for row in decisions} == {"ticket.asked", "ticket.decision"}
    for row in (*decisions, *planned):
        assert (row["ticket_id"], row["task_id"], row["level"]) == (
            ticket,
            operation["task_id"],
            "high",
        )
    assert len(planned) == 1
    assert operation["ticket_id"] == ticket


@pytest.mark.evidence(9)
def test_an_order_by_command_names_the_owner_who_gave_it_everywhere(
    live: LivePerlica, model: ScriptedModel, napcat: NapCatStandIn
) -> None:
    _make_main(napcat, model)
    question, approval = _order_deletion(napcat)
    ticket = approval.split()[1]
    said = napcat.say(OTHER_OWNER, approval)
    wait_until(lambda: live.count(DELETIONS + " AND state = 'succeeded'") == 1)

    asked = napcat.say(OTHER_OWNER, ".audit")
    told = napcat.wait_for_reply(lambda m: "审计" in m.text, after=asked)

    assert f"（{OWNER}）发命令，要删除沙箱 main" in question.splitlines()[0]
    for kind in ("请求审批", "开始执行操作"):
        (line,) = [one for one in told.text.splitlines() if kind in one and "删除沙箱" in one]
        assert f"成员 {OWNER}" in line
    actors = _rows(
        live,
        f"SELECT DISTINCT actor FROM audit_events WHERE ticket_id = '{ticket}'"
        " AND kind IN ('ticket.asked', 'operation.planned')",
    )
    assert actors == [{"actor": f"member:{OWNER}"}]
    (row,) = _rows(live, "SELECT id FROM operations WHERE action = 'sandbox.delete'")
    with live.database() as database:
        shown, done = find_ticket(database, ticket), find_operation(database, str(row["id"]))
    assert shown is not None
    assert done is not None
    assert shown.ordered_by == done.ordered_by == OWNER
    assert said.text


@pytest.mark.evidence(13)
def test_a_loop_that_is_a_step_behind_its_running_task_executes_nothing(
    live: LivePerlica,
    model: ScriptedModel,
    napcat: NapCatStandIn,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    whole = Gateway.dispatch
    seen: list[tuple[int, int]] = []

    def dispatch(
        gateway: Gateway, task: Task, given: GivenCall, cancel: CancelToken, **more: object
    ) -> CallEnd:
        if given.tool != "sandbox_exec" or seen:
            return whole(gateway, task, given, cancel, **more)  # type: ignore[arg-type]
        with Database.open(live.path) as other, other.transaction():
            other.change("UPDATE tasks SET step = step + 1 WHERE ended_at_ms IS NULL")
        before = live.count(OPERATIONS)
        end = whole(gateway, task, given, cancel, **more)  # type: ignore[arg-type]
        seen.append((before, live.count(OPERATIONS)))
        return end

    monkeypatch.setattr(Gateway, "dispatch", dispatch)
    model.add(Reply(calls=(create(), run("true"))), *[Reply(text="好")] * 3)

    asked = napcat.say(MEMBER, "做", mention=True)
    napcat.wait_for_reply(is_final, after=asked)

    assert seen == [(1, 1)]


def _lower_deletions(monkeypatch: pytest.MonkeyPatch) -> None:
    """From now on the policy of the same version calls a deletion Medium."""
    whole = Policy.judge

    def judge(policy: Policy, action: str, scope: str) -> Level:
        return Level.medium if action == "sandbox.delete" else whole(policy, action, scope)

    monkeypatch.setattr(Policy, "judge", judge)


@pytest.mark.evidence(9)
def test_an_approval_is_void_when_the_policy_fell_below_high_after_a_task_asked(
    live: LivePerlica,
    model: ScriptedModel,
    napcat: NapCatStandIn,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    question, ticket, code = ask_for_delete(napcat, model)
    model.add(Reply(text="没有删"))
    _lower_deletions(monkeypatch)

    napcat.say(OWNER, f".approve {ticket} {code}")

    void = napcat.wait_for_reply(lambda m: "已作废" in m.text, after=question)
    napcat.wait_for_reply(is_final, after=question)
    assert ticket in void.text
    assert live.count(DELETIONS) == live.count(PENDING) == 0
    assert [sandbox.name for sandbox in live.backend.reconcile()] == ["main"]


@pytest.mark.evidence(9)
def test_an_approval_is_void_when_the_policy_fell_below_high_after_an_owner_ordered(
    live: LivePerlica,
    model: ScriptedModel,
    napcat: NapCatStandIn,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    _make_main(napcat, model)
    _, approval = _order_deletion(napcat)
    _lower_deletions(monkeypatch)

    said = napcat.say(OTHER_OWNER, approval)

    napcat.wait_for_reply(lambda m: "已作废" in m.text, after=said)
    assert live.count(DELETIONS) == live.count(PENDING) == 0
    assert [sandbox.name for sandbox in live.backend.reconcile()] == ["main"]
