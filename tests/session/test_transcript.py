"""What the model sees after a restart is exactly what it saw before, rebuilt from rows."""

import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given
from hypothesis import settings as tuned
from hypothesis import strategies as st

from perlica.clients.model.anthropic import AnthropicApi
from perlica.clients.model.openai import OpenAiApi
from perlica.clients.model.settings import ModelSettings
from perlica.clients.model.thinking import ThinkingBlock, pack_thinking
from perlica.conversation import (
    AssistantMessage,
    Conversation,
    SystemMessage,
    ToolMessage,
    UserMessage,
)
from perlica.domain.errors import Refused
from perlica.domain.ids import CallId, TaskId
from perlica.protection import Channel, Protected, not_scanned, protect
from perlica.runtimes.checks import check_turn, explain_fault
from perlica.runtimes.contract import AgentTurn, CallFault, RawCall
from perlica.session.transcript import (
    NewEvent,
    Transcript,
    find_open_calls,
    new_note,
    new_result,
    new_system,
    new_window,
    record_turn,
)
from perlica.session.wrapper import WrapSettings
from perlica.stores.database import Database
from perlica.stores.sessions import NewCall, SessionStore
from tests.session.words import CREDENTIAL, RUN, TOOLS, call, sealed, turn
from tests.stores.rows import begin_task, end_task


class Session:
    """The loop's dealings with the rows of one task, without the loop."""

    def __init__(self, db: Database, task: TaskId) -> None:
        self.db = db
        self.task = task
        self.store = SessionStore(db)
        self.transcript = Transcript(WrapSettings())

    def append(self, event: NewEvent) -> int:
        with self.db.transaction():
            return self.store.append_event(
                self.task,
                kind=event.kind.value,
                body=event.body,
                call_id=event.call_id,
                opaque=event.opaque,
            )

    def open(self) -> None:
        self.append(new_system(sealed("规则"), version="1"))
        self.append(new_window(sealed("[10:00] 小明(1)【请求】: 部署")))

    def take(self, agent_turn: AgentTurn) -> list[CallId]:
        recorded = record_turn(agent_turn)
        seq = self.append(recorded.event)
        rows = [
            NewCall(
                id=c.id,
                position=c.position,
                provider_call_id=c.provider_call_id,
                tool=c.tool,
                arguments=c.arguments,
                arguments_intact=c.is_intact,
            )
            for c in recorded.calls
        ]
        with self.db.transaction():
            self.store.insert_calls(self.task, seq, rows)
        return [row.id for row in rows]

    def answer(self, call_id: CallId, text: str, *, failed: bool = False) -> None:
        with self.db.transaction():
            content = protect(text, Channel.TOOL_RESULT)
            self.store.insert_output(call_id, self.task, "sandbox dev", content)
        self.append(new_result(call_id, is_error=failed))

    def conversation(self) -> Conversation:
        calls = self.store.list_calls(self.task)
        outputs = [found for c in calls if (found := self.store.find_output(c.id)) is not None]
        return self.transcript.conversation(self.store.list_events(self.task), calls, outputs)


def begin(db: Database) -> Session:
    session = Session(db, begin_task(db).id)
    session.open()
    return session


def after_restart(path: Path, task: TaskId) -> Conversation:
    with Database.open(path) as db:
        return Session(db, task).conversation()


def requests(conversation: Conversation) -> tuple[bytes, bytes]:
    """The conversation as both APIs send it."""
    limits = ModelSettings(base_url="https://api.deepseek.com", model="m")
    return (
        OpenAiApi(limits).encode(conversation, TOOLS),
        AnthropicApi(limits).encode(conversation, TOOLS),
    )


@pytest.mark.evidence(5)
def test_twenty_turns_are_the_same_after_a_restart(path: Path) -> None:
    with Database.open(path) as db:
        session = begin(db)
        for number in range(20):
            thought = ThinkingBlock(
                after=0, block={"type": "thinking", "thinking": f"想 {number}", "signature": "Eq=="}
            )
            model_turn = turn(
                f"第 {number} 步",
                call(arguments=json.dumps({"argv": ["echo", f"{number} 🙂"]}), wire_id="same"),
                call(arguments='{"argv": ["l', wire_id=f"b{number}"),
                reasoning=f"因为 {CREDENTIAL}" if number % 3 == 0 else None,
                opaque=pack_thinking([thought]) if number % 2 else None,
            )
            used = {
                sent.wire_id
                for message in session.conversation()
                if isinstance(message, AssistantMessage)
                for sent in message.calls
            }
            first, second = session.take(check_turn(model_turn, TOOLS, used))
            session.answer(first, f"output {number} {CREDENTIAL}\n" * 3)
            session.answer(second, explain_fault(CallFault.malformed_arguments, TOOLS), failed=True)
            if number % 5 == 0:
                session.append(new_note("请复核沙箱描述。"))
        live = session.conversation()
        task = session.task

    rebuilt = after_restart(path, task)

    assert rebuilt == live
    assert requests(rebuilt) == requests(live)
    assert len(rebuilt) == 2 + 20 * 3 + 4
    wire_ids = [m.wire_id for m in rebuilt if isinstance(m, ToolMessage)]
    assert len(set(wire_ids)) == 40
    assert CREDENTIAL.encode() not in b"".join(requests(rebuilt))
    assert not [file for file in path.parent.iterdir() if CREDENTIAL.encode() in file.read_bytes()]


def test_a_conversation_is_rules_window_turns_and_results(path: Path) -> None:
    with Database.open(path) as db:
        session = begin(db)
        (made,) = session.take(check_turn(turn("看一下", call()), TOOLS, set()))
        session.answer(made, "file.txt")
        session.take(check_turn(turn("好了"), TOOLS, set()))

        kinds = [type(message) for message in session.conversation()]

    assert kinds == [SystemMessage, UserMessage, AssistantMessage, ToolMessage, AssistantMessage]


def test_results_follow_their_turn_in_the_order_of_its_calls_before_any_note(path: Path) -> None:
    with Database.open(path) as db:
        session = begin(db)
        model_turn = turn("", call(wire_id="a"), call(wire_id="b"))
        first, second = session.take(check_turn(model_turn, TOOLS, set()))
        session.append(new_note("等待审批"))
        session.answer(second, "two")
        session.answer(first, "one")

        tail = session.conversation()[2:]

    assert [getattr(message, "wire_id", "") for message in tail] == ["", "a", "b", ""]
    assert isinstance(tail[-1], UserMessage)


def test_calls_without_a_result_are_found_and_never_papered_over(path: Path) -> None:
    with Database.open(path) as db:
        session = begin(db)
        model_turn = turn("", call(wire_id="a"), call(wire_id="b"))
        first, second = session.take(check_turn(model_turn, TOOLS, set()))
        session.answer(first, "one")
        events, calls = (
            session.store.list_events(session.task),
            session.store.list_calls(session.task),
        )

        assert [row.id for row in find_open_calls(events, calls)] == [second]
        with pytest.raises(ValueError, match="no result yet"):
            session.conversation()


def test_a_result_whose_retention_has_passed_says_so(path: Path) -> None:
    with Database.open(path) as db:
        session = begin(db)
        (made,) = session.take(check_turn(turn("", call()), TOOLS, set()))
        session.append(new_result(made, is_error=False))

        result = session.conversation()[-1]

    assert isinstance(result, ToolMessage)
    assert "已超过保留期" in result.content.content


def test_many_medium_results_leave_out_the_oldest_and_say_so(path: Path) -> None:
    with Database.open(path) as db:
        session = begin(db)
        session.transcript = Transcript(WrapSettings(total_code_points=2_500))
        for number in range(5):
            (made,) = session.take(check_turn(turn("", call(wire_id=f"c{number}")), TOOLS, set()))
            session.answer(made, str(number) * 1_000)

        results = [m.content.content for m in session.conversation() if isinstance(m, ToolMessage)]

    assert ["已略去" in text for text in results] == [True, True, True, False, False]
    assert sum(map(len, results)) < 2_500 + 3 * 200
    assert results[-1].count("4" * 1_000) == 1


def test_arguments_with_a_credential_are_kept_redacted_and_marked() -> None:
    given_arguments = json.dumps({"argv": ["login", "--token", CREDENTIAL]})

    (recorded,) = record_turn(
        check_turn(turn("", call(arguments=given_arguments)), TOOLS, set())
    ).calls

    assert CREDENTIAL not in recorded.arguments.content
    assert (recorded.is_intact, recorded.fault) == (False, None)
    assert json.loads(recorded.arguments.content)["argv"][:2] == ["login", "--token"]


@pytest.mark.evidence(6)
def test_arguments_that_cannot_be_scanned_are_a_fault_and_are_not_kept(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    def protect_all_but_arguments(value: Any, channel: Channel) -> Protected:
        given_up = channel is Channel.TOOL_ARGUMENTS and value != "{}"
        return not_scanned() if given_up else protect(value, channel)

    monkeypatch.setattr("perlica.session.transcript.protect", protect_all_but_arguments)

    (recorded,) = record_turn(check_turn(turn("", call()), TOOLS, set())).calls

    assert recorded.fault is CallFault.unscannable_arguments
    assert (recorded.arguments.content, recorded.is_intact) == ("{}", False)


def test_clean_arguments_are_intact_and_faulty_ones_never_are() -> None:
    model_turn = turn("", call(wire_id="a"), call(arguments="{", wire_id="b"), call("bash"))

    clean, malformed, unknown = record_turn(check_turn(model_turn, TOOLS, set())).calls

    assert (clean.is_intact, clean.fault) == (True, None)
    assert (malformed.is_intact, malformed.fault) == (False, CallFault.malformed_arguments)
    assert (unknown.is_intact, unknown.tool) == (False, "unknown_tool")


def test_a_malformed_call_is_replayed_with_empty_arguments(path: Path) -> None:
    with Database.open(path) as db:
        session = begin(db)
        (made,) = session.take(check_turn(turn("", call(arguments='{"argv": ["rm')), TOOLS, set()))
        session.answer(made, "没有执行", failed=True)

        openai, anthropic = map(json.loads, requests(session.conversation()))

    assert openai["messages"][2]["tool_calls"][0]["function"]["arguments"] == "{}"
    assert anthropic["messages"][1]["content"][0]["input"] == {}
    assert anthropic["messages"][2]["content"][0]["is_error"] is True


@pytest.mark.evidence(5)
@pytest.mark.parametrize("thought", [f"key {CREDENTIAL}", "密码：Sup3r-S3cret-99x"])
def test_signed_thinking_that_protection_would_change_ends_the_task(thought: str) -> None:
    block: dict[str, object] = {"type": "thinking", "thinking": thought, "signature": "x"}
    opaque = pack_thinking([ThinkingBlock(after=0, block=block)])

    with pytest.raises(Refused, match="protection_altered_thinking"):
        record_turn(check_turn(turn("ok", opaque=opaque), TOOLS, set()))


def test_signed_thinking_is_kept_byte_for_byte(path: Path) -> None:
    block: dict[str, object] = {
        "type": "thinking",
        "thinking": "想\u2028 \t⟦凭据:password:1⟧",
        "signature": "A+/=",
    }
    opaque = pack_thinking([ThinkingBlock(after=0, block=block)])
    with Database.open(path) as db:
        session = begin(db)
        session.take(check_turn(turn("ok", opaque=opaque), TOOLS, set()))
        task = session.task

    last = after_restart(path, task)[-1]

    assert isinstance(last, AssistantMessage)
    assert last.opaque == opaque


def test_empty_thinking_is_not_the_same_as_none(path: Path) -> None:
    with Database.open(path) as db:
        session = begin(db)
        session.take(check_turn(turn("a", reasoning=""), TOOLS, set()))
        session.take(check_turn(turn("b"), TOOLS, set()))

        first, second = session.conversation()[2:]

    assert isinstance(first, AssistantMessage)
    assert isinstance(second, AssistantMessage)
    assert first.reasoning is not None
    assert second.reasoning is None


@pytest.mark.evidence(6)
def test_a_turn_that_cannot_be_scanned_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("perlica.session.transcript.protect", lambda *_: not_scanned())

    with pytest.raises(Refused, match="protection_failed"):
        record_turn(check_turn(turn("a"), TOOLS, set()))


ANY_TEXT = st.text(st.characters(codec="utf-8"), max_size=60)


@given(
    turns=st.lists(
        st.tuples(
            ANY_TEXT, st.none() | ANY_TEXT, st.lists(st.tuples(ANY_TEXT, ANY_TEXT), max_size=3)
        ),
        max_size=4,
    )
)
@tuned(max_examples=25, suppress_health_check=[HealthCheck.function_scoped_fixture], deadline=None)
def test_whatever_a_model_says_the_rows_give_it_back(
    path: Path, turns: list[tuple[str, str | None, list[tuple[str, str]]]]
) -> None:
    with Database.open(path) as db:
        session = begin(db)
        end_task(db, session.task)
        for text, reasoning, calls in turns:
            made = [RawCall(wire_id=i, tool=RUN.name, arguments_json=a) for i, a in calls]
            model_turn = turn(text, *made, reasoning=reasoning)
            for made_id in session.take(check_turn(model_turn, TOOLS, set())):
                session.answer(made_id, text)
        live = session.conversation()
        task = session.task

    assert after_restart(path, task) == live
