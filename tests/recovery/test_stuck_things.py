"""Things that go round, hang or come too early: each has an end that the group can see."""

import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager

import pytest

from actors.coordinator import actor as coordinator
from actors.messages import StepDue
from perlica.demo.model import Reply, ScriptedModel
from perlica.demo.napcat import NapCatStandIn
from perlica.domain.cancel import CancelToken
from perlica.domain.errors import StaleState
from perlica.domain.ids import TaskId
from perlica.session.loop import AgentLoop
from tests.behaviour.live import MEMBER, OWNER, PATIENCE_S, LivePerlica, is_final, wait_until

ENDED = "SELECT count(*) FROM tasks WHERE end_reason = '{}'"


@contextmanager
def _held_session(live: LivePerlica) -> Iterator[Callable[[], bool]]:
    """The session takes no step before the block ends; gives whether one waits."""
    waiting, released = threading.Event(), threading.Event()

    def hold(actor: str, message: object | None) -> None:
        if actor == "session" and isinstance(message, StepDue):
            waiting.set()
            released.wait(120)

    live.alarm.before = hold
    try:
        yield waiting.is_set
    finally:
        released.set()


@pytest.mark.evidence(14)
def test_a_step_that_never_gets_anywhere_ends_the_task(
    live: LivePerlica,
    model: ScriptedModel,
    napcat: NapCatStandIn,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    whole = AgentLoop._do_step

    def outdated(loop: AgentLoop, task: TaskId, step: int, cancel: CancelToken) -> None:
        if model.turns_left:
            whole(loop, task, step, cancel)
        raise StaleState("task_moved", "always")

    monkeypatch.setattr(coordinator, "_MOST_REPEATS", 5)
    monkeypatch.setattr(AgentLoop, "_do_step", outdated)

    asked = napcat.say(MEMBER, "转圈", mention=True)

    assert "服务内部出错" in napcat.wait_for_reply(is_final, PATIENCE_S, after=asked).text
    assert live.exit_codes == []


def test_a_request_that_is_recalled_before_its_task_began_is_taken_back(
    live: LivePerlica, model: ScriptedModel, napcat: NapCatStandIn
) -> None:
    model.add(Reply(text="下一个"))
    with _held_session(live) as is_waiting:
        asked = napcat.say(MEMBER, "算了", mention=True)
        wait_until(is_waiting)

        napcat.recall(asked)

        wait_until(lambda: live.count(ENDED.format("recalled")) == 1)
    following = napcat.say(MEMBER, "下一件", mention=True)
    answer = napcat.wait_for_reply(lambda m: "下一个" in m.text, after=following)
    assert answer.text
    assert len(model.requests) == 1
    assert "算了" not in str(model.requests[0]["messages"])


@pytest.mark.evidence(14)
def test_a_session_that_does_not_end_a_cancelled_step_brings_the_process_down(
    live: LivePerlica, napcat: NapCatStandIn, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(coordinator, "_STUCK_AFTER_S", 0.5)
    with _held_session(live) as is_waiting:
        asked = napcat.say(MEMBER, "卡住", mention=True)
        wait_until(is_waiting)

        napcat.say(MEMBER, ".cancel")

        napcat.wait_for_reply(lambda m: "已取消" in m.text, after=asked)
        wait_until(lambda: bool(live.exit_codes))
    assert live.exit_codes[0] != 0
    assert live.alarm.faults == ["session: SessionStuck"]


@pytest.mark.evidence(14)
def test_commands_are_answered_while_the_session_hangs(
    live: LivePerlica, napcat: NapCatStandIn
) -> None:
    with _held_session(live) as is_waiting:
        napcat.say(MEMBER, "卡住", mention=True)
        wait_until(is_waiting)

        for line, words in ((".status", "T-"), (".deny K7Q2M", "没有编号"), (".tasks", "最近")):
            said = napcat.say(OWNER, line)
            assert words in napcat.wait_for_reply(within_s=PATIENCE_S, after=said).text
        said = napcat.say(OWNER, ".cancel")
        cancelled = napcat.wait_for_reply(lambda m: "已取消" in m.text, PATIENCE_S, after=said)
    assert cancelled.text
