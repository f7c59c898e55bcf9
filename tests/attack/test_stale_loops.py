"""A session loop whose task has ended, and that nobody stopped, can do nothing any more."""

import pytest

from perlica.demo.model import Call, Reply, ScriptedModel
from perlica.demo.napcat import NapCatStandIn
from perlica.domain.cancel import CancelToken
from perlica.domain.task import EndReason, TaskState
from perlica.domain.texts import Language
from perlica.gateway.core.gateway import Gateway, GivenCall
from perlica.gateway.core.outcomes import CallEnd
from perlica.gateway.known_actions import CATALOG
from perlica.runtimes.contract import RawTurn
from perlica.runtimes.native.runtime import NativeSession
from perlica.stores.database import Database
from perlica.stores.tasks import Task, TaskStore
from perlica.tasks.ending import TaskEnder
from tests.behaviour.asking import create, delete, run
from tests.behaviour.live import MEMBER, PATIENCE_S, LivePerlica

CALLS = [
    run("true"),
    create("other"),
    delete(),
    Call(tool="sandbox_write", arguments={"sandbox": "main", "path": "/a", "content": "x"}),
    Call(tool="sandbox_manage", arguments={"action": "describe", "name": "main", "purpose": "x"}),
    Call(tool="group_recent_context", arguments={"limit": 5}),
]


def _end(database: Database) -> None:
    """The task ends in the tables, and no flag tells its loop."""
    task = TaskStore(database).active_task()
    assert task is not None
    ender = TaskEnder(database=database, language=Language.zh, actions=CATALOG)
    ender.end(task, after=TaskState.cancelled, reason=EndReason.cancelled_by_member)


def _wait_for_the_next_task(napcat: NapCatStandIn) -> None:
    """The session has come back from the step: it has answered the next request."""
    following = napcat.say(MEMBER, "下一件", mention=True)
    napcat.wait_for_reply(lambda m: "下一个任务" in m.text, PATIENCE_S, after=following)


@pytest.mark.evidence(13)
@pytest.mark.parametrize("call", CALLS, ids=lambda call: f"{call.tool} {call.arguments}"[:40])
def test_a_call_of_a_task_that_has_ended_meanwhile_does_nothing(
    live: LivePerlica,
    model: ScriptedModel,
    napcat: NapCatStandIn,
    monkeypatch: pytest.MonkeyPatch,
    call: Call,
) -> None:
    whole = Gateway.dispatch
    calls = 0

    def dispatch(
        gateway: Gateway, task: Task, given: GivenCall, cancel: CancelToken, **more: object
    ) -> CallEnd:
        nonlocal calls
        calls += 1
        if calls == 2:
            _end(gateway.database)
        return whole(gateway, task, given, cancel, **more)  # type: ignore[arg-type]

    monkeypatch.setattr(Gateway, "dispatch", dispatch)
    model.add(Reply(calls=(create(),)), Reply(calls=(call,)), Reply(text="下一个任务"))

    asked = napcat.say(MEMBER, "做", mention=True)
    napcat.wait_for_reply(lambda m: "已取消" in m.text, PATIENCE_S, after=asked)
    _wait_for_the_next_task(napcat)

    assert calls == 2
    assert live.count("SELECT count(*) FROM operations") == 1
    assert live.count("SELECT count(*) FROM tool_outputs") == 1
    assert live.count("SELECT count(*) FROM approvals") == 0
    assert [sandbox.name for sandbox in live.backend.reconcile()] == ["main"]


@pytest.mark.evidence(13)
def test_an_answer_of_a_task_that_has_ended_meanwhile_is_told_to_nobody(
    live: LivePerlica,
    model: ScriptedModel,
    napcat: NapCatStandIn,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    whole = NativeSession.turn

    def turn(session: NativeSession, *given: object) -> RawTurn:
        thought = whole(session, *given)  # type: ignore[arg-type]
        if thought.text == "zu spät":
            with Database.open(live.path) as database:
                _end(database)
        return thought

    monkeypatch.setattr(NativeSession, "turn", turn)
    model.add(Reply(text="zu spät"), Reply(text="下一个任务"))

    asked = napcat.say(MEMBER, "做", mention=True)
    napcat.wait_for_reply(lambda m: "已取消" in m.text, PATIENCE_S, after=asked)
    _wait_for_the_next_task(napcat)

    assert not any("zu spät" in message.text for message in napcat.sent)
    assert live.count("SELECT count(*) FROM tasks WHERE state = 'cancelled'") == 1
    assert live.count("SELECT count(*) FROM session_events WHERE body LIKE '%zu spät%'") == 0
