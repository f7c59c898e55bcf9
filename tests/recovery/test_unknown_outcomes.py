"""An outcome that nobody can tell: never repeated, said aloud, and closed by an Owner."""

import re
import threading

import pytest

from perlica.demo.model import Call, Reply, ScriptedModel
from perlica.demo.napcat import NapCatStandIn
from perlica.sandboxes import jobs
from tests.behaviour.asking import ask_for_delete, create, run
from tests.behaviour.conftest import MakeLive
from tests.behaviour.live import MEMBER, OWNER, PATIENCE_S, LivePerlica, is_final, wait_until
from tests.recovery.backends import Deaf, Forgetful, SlowToDelete

UNKNOWN = "SELECT count(*) FROM operations WHERE state = 'unknown'"


@pytest.fixture(autouse=True)
def _short_patience(monkeypatch: pytest.MonkeyPatch) -> None:
    """The node is asked for half a second instead of half a minute."""
    monkeypatch.setattr(jobs, "_ASK_WITHIN_S", 0.5)


def _lose_a_deletion(
    make_live: MakeLive, model: ScriptedModel, napcat: NapCatStandIn
) -> tuple[LivePerlica, Forgetful, str]:
    """A deletion was approved and done, and its outcome is unknown; the operation's id."""
    backend = Forgetful()
    live = make_live(model.base_url, backend=backend)
    question, ticket, code = ask_for_delete(napcat, model)
    napcat.say(OWNER, f".approve {ticket} {code}")
    napcat.wait_for_reply(
        lambda m: "结果不明" in m.text and is_final(m), PATIENCE_S, after=question
    )
    with live.database() as database:
        (row,) = database.query("SELECT id FROM operations WHERE state = 'unknown'")
    return live, backend, str(row["id"])


@pytest.mark.evidence(14)
def test_an_unknown_deletion_ends_the_task_frees_the_slot_and_is_not_repeated(
    make_live: MakeLive, model: ScriptedModel, napcat: NapCatStandIn
) -> None:
    live, backend, operation = _lose_a_deletion(make_live, model, napcat)
    model.add(Reply(text="下一个任务"))

    following = napcat.say(MEMBER, "下一件", mention=True)
    answer = napcat.wait_for_reply(is_final, after=following)
    told = napcat.wait_for_reply(lambda m: operation in m.text, PATIENCE_S)

    assert "下一个任务" in answer.text
    assert ".recovery" in told.text
    assert backend.deletions == 1
    assert live.count("SELECT count(*) FROM tasks WHERE end_reason = 'outcome_unknown'") == 1


@pytest.mark.evidence(14)
def test_an_owner_sees_the_queue_and_closes_an_operation_with_a_reason(
    make_live: MakeLive, model: ScriptedModel, napcat: NapCatStandIn
) -> None:
    live, _, operation = _lose_a_deletion(make_live, model, napcat)

    asked = napcat.say(OWNER, ".recovery")
    listed = napcat.wait_for_reply(lambda m: operation in m.text, after=asked)
    tried = napcat.say(MEMBER, f".recovery resolve {operation} 我看过了")
    refused = napcat.wait_for_reply(after=tried)
    said = napcat.say(OWNER, f".recovery resolve {operation} 已在节点上确认删除")
    napcat.wait_for_reply(lambda m: "已了结" in m.text, after=said)

    assert "删除" in listed.text
    assert "Owner" in refused.text
    assert live.count(UNKNOWN) == 0
    kept = """SELECT count(*) FROM audit_events WHERE kind = 'operation.resolved'
        AND detail LIKE '%已在节点上确认删除%'"""
    assert live.count(kept) == 1


@pytest.mark.evidence(14)
def test_a_node_that_remembers_later_settles_the_operation_by_itself(
    make_live: MakeLive, model: ScriptedModel, napcat: NapCatStandIn
) -> None:
    live, backend, operation = _lose_a_deletion(make_live, model, napcat)
    live.stop()
    backend.remembers.set()

    live.start()

    wait_until(lambda: live.count(UNKNOWN) == 0)
    late = napcat.wait_for_reply(lambda m: operation in m.text and "成功" in m.text, PATIENCE_S)
    assert late.text
    assert backend.deletions == 1
    assert live.count("SELECT count(*) FROM sandboxes WHERE slot IS NOT NULL") == 0


@pytest.mark.evidence(14)
def test_a_command_that_hears_no_cancel_is_given_up_and_the_next_task_begins(
    make_live: MakeLive,
    model: ScriptedModel,
    napcat: NapCatStandIn,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    from actors import serializer

    monkeypatch.setattr(serializer, "_AFTER_CANCEL_S", 0.5)
    backend = Deaf()
    live = make_live(model.base_url, backend=backend)
    model.add(Reply(calls=(create(), run("true"))), Reply(text="下一个任务"))
    started = "SELECT count(*) FROM operations WHERE action='sandbox.exec' AND state='started'"
    try:
        napcat.say(MEMBER, "跑", mention=True)
        wait_until(lambda: live.count(started) == 1)

        napcat.say(MEMBER, ".cancel")
        cancelled = napcat.wait_for_reply(lambda m: "已取消" in m.text)
        following = napcat.say(MEMBER, "下一件", mention=True)

        answer = napcat.wait_for_reply(is_final, after=following)
        assert "下一个任务" in answer.text or "下一个任务" in napcat.sent[-1].text
        assert cancelled.text
        wait_until(lambda: live.count(UNKNOWN) == 1)
    finally:
        backend.released.set()
    wait_until(lambda: live.count(UNKNOWN) == 0, what="the late end is written down")


@pytest.mark.evidence(13)
def test_a_sandbox_with_an_unknown_operation_takes_no_changes_until_it_is_closed(
    make_live: MakeLive,
    model: ScriptedModel,
    napcat: NapCatStandIn,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    from actors import serializer

    monkeypatch.setattr(serializer, "_AFTER_CANCEL_S", 0.3)
    backend = Deaf()
    live = make_live(model.base_url, backend=backend)
    model.add(Reply(calls=(create(), run("true"))))
    model.add(Reply(calls=(Call(tool="sandbox_write", arguments=_WRITE),)), Reply(text="不行"))
    started = "SELECT count(*) FROM operations WHERE action='sandbox.exec' AND state='started'"
    try:
        napcat.say(MEMBER, "跑", mention=True)
        wait_until(lambda: live.count(started) == 1)
        napcat.say(MEMBER, ".cancel")
        wait_until(lambda: live.count(UNKNOWN) == 1)

        following = napcat.say(MEMBER, "写文件", mention=True)
        napcat.wait_for_reply(lambda m: "不行" in m.text, after=following)
    finally:
        backend.released.set()

    told = str(model.requests[-1]["messages"][-1]["content"])
    assert "takes no changes until an Owner" in told
    assert live.count("SELECT count(*) FROM operations WHERE action = 'sandbox.write'") == 0


_WRITE = {"sandbox": "main", "path": "/root/a", "content": "x"}


@pytest.mark.evidence(14)
def test_a_step_that_the_database_refused_is_taken_up_again(
    make_live: MakeLive,
    model: ScriptedModel,
    napcat: NapCatStandIn,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    from perlica.demo.model import Held
    from perlica.stores import database as database_module
    from perlica.stores.database import Database

    monkeypatch.setattr(database_module, "BUSY_TIMEOUT_MS", 100)
    live = make_live(model.base_url)
    held = Held(reply=Reply(text="还是答了"))
    model.add(held, *[Reply(text="还是答了")] * 9)
    asked = napcat.say(MEMBER, "想一想", mention=True)
    model.wait_for_request()
    hogging, ends = threading.Event(), threading.Event()

    def hog() -> None:
        with Database.open(live.path) as database, database.transaction():
            hogging.set()
            ends.wait(10)

    hog_thread = threading.Thread(target=hog)
    hog_thread.start()
    hogging.wait(10)
    held.released.set()
    ends.wait(0.6)
    ends.set()
    hog_thread.join()

    answer = napcat.wait_for_reply(is_final, PATIENCE_S, after=asked)
    assert "还是答了" in answer.text
    assert live.exit_codes == []


@pytest.mark.evidence(14)
def test_an_ended_task_says_late_what_became_of_a_risky_operation(
    make_live: MakeLive, model: ScriptedModel, napcat: NapCatStandIn
) -> None:
    backend = SlowToDelete()
    live = make_live(model.base_url, backend=backend)
    question, ticket, code = ask_for_delete(napcat, model)
    napcat.say(OWNER, f".approve {ticket} {code}")
    backend.begun.wait(10)

    napcat.say(OWNER, ".cancel")
    cancelled = napcat.wait_for_reply(lambda m: "已取消" in m.text, after=question)
    backend.released.set()

    late = napcat.wait_for_reply(lambda m: "现在有了结果" in m.text, after=cancelled)
    assert "还在进行" in cancelled.text
    assert re.search("删除沙箱.*成功", late.text)
    assert live.backend.reconcile() == ()
