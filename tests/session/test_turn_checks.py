"""What a turn of any runtime means before anybody acts on it."""

import json
from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from perlica.conversation import (
    MAX_OPAQUE_BYTES,
    AssistantMessage,
    SentCall,
    UserMessage,
)
from perlica.domain.errors import Misconfigured, PerlicaError, Refused, Retryable
from perlica.domain.task import EndReason
from perlica.runtimes.checks import (
    MAX_ARGUMENT_BYTES,
    MAX_CALLS,
    MAX_TEXT_BYTES,
    check_turn,
    explain_fault,
    find_wire_ids,
    is_json_object,
)
from perlica.runtimes.contract import (
    AgentTurn,
    CallFault,
    Finish,
    RawCall,
    RawTurn,
    find_end_reason,
)
from tests.session.words import READ, RUN, TOOLS, call, sealed, turn


def check(raw: RawTurn, used: set[str] | None = None) -> AgentTurn:
    return check_turn(raw, TOOLS, used or set())


def test_a_text_without_calls_is_the_answer() -> None:
    checked = check(turn("done"))

    assert (checked.end, checked.text, checked.calls) == (EndReason.answered, "done", ())
    assert (checked.input_tokens, checked.output_tokens) == (11, 5)


@pytest.mark.parametrize(
    ("raw", "end"),
    [
        (turn("half", finish=Finish.cut_off), EndReason.incomplete_answer),
        (turn("", call(), finish=Finish.cut_off), EndReason.incomplete_answer),
        (turn("", finish=Finish.filtered), EndReason.model_filtered),
        (turn("no", call(), finish=Finish.filtered), EndReason.model_filtered),
        (turn(""), EndReason.empty_answer),
        (turn(" \n\u3000"), EndReason.empty_answer),
    ],
)
def test_a_turn_that_is_no_answer_ends_with_the_true_reason_and_runs_nothing(
    raw: RawTurn, end: EndReason
) -> None:
    checked = check(raw)

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
        '{"a":' * 40_000 + "1" + "}" * 40_000,
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
    big = RawCall(wire_id="x", tool=RUN.name, arguments_json="", is_oversized=True)

    (checked,) = check(turn("", big)).calls

    assert checked.fault is CallFault.oversized_arguments


def test_call_ids_are_ours_and_a_providers_duplicates_are_told_apart() -> None:
    raw = turn("", call(wire_id="a"), call(wire_id="a"), call(wire_id="old"))

    calls = check(raw, {"old"}).calls

    assert len({checked.id for checked in calls}) == 3
    assert len({checked.wire_id for checked in calls} | {"old"}) == 4
    assert calls[0].wire_id == "a"


@pytest.mark.parametrize("wire_id", ["", "a b", "x" * 65, "id\n", "编号", '"'])
def test_a_providers_id_that_is_no_plain_word_is_replaced_by_ours(wire_id: str) -> None:
    (checked,) = check(turn("", call(wire_id=wire_id))).calls

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


def test_a_fault_of_the_runtime_is_told_as_an_internal_one() -> None:
    assert find_end_reason(Refused("runtime_fault", "")) is EndReason.internal_fault


@pytest.mark.parametrize(
    "raw",
    [
        turn("x" * (MAX_TEXT_BYTES + 1)),
        turn("好" * (MAX_TEXT_BYTES // 3 + 1)),
        turn("好了", reasoning="x" * (MAX_TEXT_BYTES + 1)),
        turn("好了", opaque=b"[" + b" " * MAX_OPAQUE_BYTES),
        turn("", *[call(wire_id=f"c{number}") for number in range(MAX_CALLS + 1)]),
    ],
    ids=["text", "text in bytes", "reasoning", "opaque", "calls"],
)
def test_a_turn_that_is_too_large_to_keep_ends_the_task_and_is_not_kept(raw: RawTurn) -> None:
    checked = check(raw)

    assert (checked.end, checked.calls, checked.text) == (EndReason.too_large, (), "")
    assert (checked.reasoning, checked.opaque) == (None, None)
    assert (checked.input_tokens, checked.output_tokens) == (11, 5)


def test_a_turn_at_the_limits_is_taken() -> None:
    calls = [call(wire_id=f"c{number}") for number in range(MAX_CALLS)]

    assert check(turn("x" * MAX_TEXT_BYTES)).end is EndReason.answered
    assert len(check(turn("", *calls)).calls) == MAX_CALLS


def test_arguments_beyond_the_limit_are_a_fault_whatever_the_runtime_says() -> None:
    arguments = json.dumps({"a": "x" * MAX_ARGUMENT_BYTES})

    (checked,) = check(turn("", call(arguments=arguments))).calls

    assert (checked.fault, checked.arguments_json) == (CallFault.oversized_arguments, "{}")


@pytest.mark.parametrize(
    "raw", [replace(turn("好了"), input_tokens=-1), replace(turn("好了"), output_tokens=-1)]
)
def test_a_turn_cannot_give_tokens_back(raw: RawTurn) -> None:
    with pytest.raises(Refused, match="runtime_fault"):
        check(raw)


def test_the_ids_of_a_conversation_are_those_of_its_calls() -> None:
    sent = SentCall(wire_id="call_1", name=RUN.name, arguments=sealed("{}"))
    said = (
        UserMessage(content=sealed("hi")),
        AssistantMessage(text=sealed(""), calls=(sent,)),
        AssistantMessage(text=sealed("好了")),
    )

    assert find_wire_ids(said) == {"call_1"}
