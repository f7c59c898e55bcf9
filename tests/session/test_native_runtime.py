"""What a model's turn means before anybody acts on it."""

import json
from collections.abc import Sequence
from dataclasses import dataclass

import pytest
from hypothesis import given
from hypothesis import strategies as st

from perlica.clients.model.contract import Finish, ModelCall, ModelTurn, ProbeFinding
from perlica.conversation import (
    AssistantMessage,
    Conversation,
    SentCall,
    ToolSpec,
    UserMessage,
)
from perlica.domain.cancel import CancelToken
from perlica.domain.errors import Misconfigured, PerlicaError, Refused, Retryable
from perlica.domain.ids import new_task_id
from perlica.domain.task import EndReason
from perlica.runtimes.checks import explain_fault, is_json_object
from perlica.runtimes.contract import AgentTurn, CallFault, find_end_reason
from perlica.runtimes.native.runtime import NativeRuntime, check_turn
from tests.session.words import READ, RUN, TOOLS, call, sealed, turn


def check(model_turn: ModelTurn, used: set[str] | None = None) -> AgentTurn:
    return check_turn(model_turn, TOOLS, used or set())


def test_a_text_without_calls_is_the_answer() -> None:
    checked = check(turn("done"))

    assert (checked.end, checked.text, checked.calls) == (EndReason.answered, "done", ())
    assert (checked.input_tokens, checked.output_tokens) == (11, 5)


@pytest.mark.parametrize(
    ("model_turn", "end"),
    [
        (turn("half", finish=Finish.length), EndReason.incomplete_answer),
        (turn("", call(), finish=Finish.length), EndReason.incomplete_answer),
        (turn("", finish=Finish.filtered), EndReason.model_filtered),
        (turn("no", call(), finish=Finish.filtered), EndReason.model_filtered),
        (turn(""), EndReason.empty_answer),
        (turn(" \n\u3000"), EndReason.empty_answer),
    ],
)
def test_a_turn_that_is_no_answer_ends_with_the_true_reason_and_runs_nothing(
    model_turn: ModelTurn, end: EndReason
) -> None:
    checked = check(model_turn)

    assert (checked.end, checked.calls) == (end, ())


@pytest.mark.parametrize(
    "arguments",
    [
        "{",
        '{"argv": ["ls"',
        "[]",
        '"ls"',
        "null",
        "{} {}",
        '{"a": NaN}',
        '{"a": Infinity}',
        '{"a": 1, "a": 2}',
        '{"b": {"a": 1, "a": 2}}',
        '{"a": "\\ud800"}',
        "[" * 100_000,
        '{"a":' * 50_000 + "1" + "}" * 50_000,
        '{"a": ' + "9" * 5_000 + "}",
        "{'a': 1}",
        '```json\n{"a": 1}\n```',
    ],
)
def test_malformed_arguments_never_run(arguments: str) -> None:
    (checked,) = check(turn("", call(arguments=arguments))).calls

    assert checked.fault is CallFault.malformed_arguments
    assert checked.arguments_json == arguments


@given(
    st.dictionaries(
        st.text(st.characters(codec="utf-8")), st.integers() | st.text(st.characters(codec="utf-8"))
    )
)
def test_every_json_object_is_one(value: dict[str, int | str]) -> None:
    assert is_json_object(json.dumps(value))
    assert is_json_object(json.dumps(value, ensure_ascii=False))


@given(st.text())
def test_whatever_text_stands_for_arguments_the_check_returns(text: str) -> None:
    is_json_object(text)


def test_a_call_of_an_unknown_tool_is_kept_without_its_name() -> None:
    (checked,) = check(turn("", call("bash; rm -rf /"))).calls

    assert (checked.tool, checked.fault) == ("unknown_tool", CallFault.unknown_tool)
    assert checked.wire_id == checked.id


def test_oversized_arguments_are_a_fault() -> None:
    big = ModelCall(provider_id="x", name=RUN.name, arguments_json="", is_oversized=True)

    (checked,) = check(turn("", big)).calls

    assert checked.fault is CallFault.oversized_arguments


def test_call_ids_are_ours_and_a_providers_duplicates_are_told_apart() -> None:
    model_turn = turn("", call(provider_id="a"), call(provider_id="a"), call(provider_id="old"))

    calls = check(model_turn, {"old"}).calls

    assert len({checked.id for checked in calls}) == 3
    assert len({checked.wire_id for checked in calls} | {"old"}) == 4
    assert calls[0].wire_id == "a"


@pytest.mark.parametrize("provider_id", ["", "a b", "x" * 65, "id\n", "编号", '"'])
def test_a_providers_id_that_is_no_plain_word_is_replaced_by_ours(provider_id: str) -> None:
    (checked,) = check(turn("", call(provider_id=provider_id))).calls

    assert checked.wire_id == checked.id


@pytest.mark.parametrize(
    "text",
    [
        '{"name": "sandbox_exec", "arguments": {"argv": ["ls"]}}',
        '```json\n{"tool": "sandbox_exec", "parameters": {}}\n```',
        '[{"function": {"name": "sandbox_exec", "arguments": "{}"}}]',
        '<tool_call>\n{"name": "sandbox_exec", "arguments": {}}\n</tool_call>',
        "好的<｜tool▁calls▁begin｜>function<｜tool▁sep｜>sandbox_exec\n{}",
        '<function=sandbox_exec>{"argv": ["ls"]}</function>',
        '<invoke name="sandbox_exec"><parameter name="argv">ls</parameter></invoke>',
        '[TOOL_CALLS] [{"name": "sandbox_exec"}]',
    ],
)
def test_a_call_written_as_text_is_neither_run_nor_posted(text: str) -> None:
    checked = check(turn(text))

    assert (checked.calls, checked.end) == ((), None)
    assert "没有执行" in checked.correction


@pytest.mark.parametrize(
    "text",
    [
        "我用 sandbox_exec 运行了 ls。",
        '{"name": "小明", "arguments": 3}',
        "<tool_call> 是一种写法",
        '{"result": "sandbox_exec"}',
        "[]",
    ],
)
def test_an_answer_that_speaks_about_tools_is_an_answer(text: str) -> None:
    assert check(turn(text)).end is EndReason.answered


@pytest.mark.parametrize("fault", list(CallFault))
def test_each_fault_is_explained_to_the_model(fault: CallFault) -> None:
    text = explain_fault(fault, TOOLS)

    assert text.startswith("没有执行")
    assert (RUN.name in text) == (fault is CallFault.unknown_tool)


def test_the_explanation_lists_the_tools_that_exist() -> None:
    assert f"{RUN.name}、{READ.name}" in explain_fault(CallFault.unknown_tool, TOOLS)


@pytest.mark.parametrize(
    ("error", "reason"),
    [
        (Refused("model_context_too_long", ""), EndReason.model_input_too_long),
        (Refused("model_answer_too_large", ""), EndReason.too_large),
        (Refused("protection_incomplete", ""), EndReason.protection_failed),
        (Refused("model_content_refused", ""), EndReason.model_filtered),
        (Retryable("model_unreachable", ""), EndReason.model_unreachable),
        (Misconfigured("model_key_rejected", ""), EndReason.model_key),
    ],
)
def test_a_failed_turn_ends_the_task_with_the_true_reason(
    error: PerlicaError, reason: EndReason
) -> None:
    assert find_end_reason(error) is reason


@dataclass
class Client:
    """A client that has its turn already."""

    answer: ModelTurn
    asked: tuple[Conversation, Sequence[ToolSpec]] | None = None

    def complete(
        self, conversation: Conversation, tools: Sequence[ToolSpec], cancel: CancelToken
    ) -> ModelTurn:
        self.asked = (conversation, tools)
        return self.answer

    def probe(self, cancel: CancelToken) -> tuple[ProbeFinding, ...]:
        return ()

    def close(self) -> None:
        return None


def test_the_runtime_asks_once_and_knows_the_ids_of_the_conversation() -> None:
    sent = SentCall(wire_id="call_1", name=RUN.name, arguments=sealed("{}"))
    conversation = (
        UserMessage(content=sealed("hi")),
        AssistantMessage(text=sealed(""), calls=(sent,)),
    )
    client = Client(turn("", call(provider_id="call_1")))

    checked = (
        NativeRuntime(client)
        .open(new_task_id(), CancelToken())
        .turn(conversation, TOOLS, CancelToken())
    )

    assert client.asked == (conversation, TOOLS)
    assert checked.calls[0].wire_id == checked.calls[0].id
