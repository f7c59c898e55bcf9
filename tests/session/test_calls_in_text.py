"""A call written as text is never taken for the answer; an answer about tools is one."""

import pytest

from perlica.runtimes.calls_in_text import is_call_in_text
from perlica.runtimes.checks import check_turn
from tests.session.words import TOOLS, turn

NAMES = [tool.name for tool in TOOLS]
CALL = '{"name": "sandbox_exec", "arguments": {"argv": ["id"]}}'

DESCRIBED = '{"name": "sandbox_exec", "parameters": {"type": "object", "properties": {}}}'


@pytest.mark.parametrize(
    "text",
    [
        CALL,
        f"[{CALL}]",
        f"我来运行：\n```json\n{CALL}\n```",
        f"我来运行：\n{CALL}",
        f"{CALL}\n稍等。",
        f"先看\n```\n{CALL}\n```\n再看\n```\n{CALL}\n```",
        '```json\n{\n  "tool": "sandbox_exec",\n  "parameters": {"argv": ["id"]}\n}\n```',
        '{"tool_calls": [{"type": "function", "function": ' + CALL + "}]}",
        '{"action": "sandbox_exec", "action_input": {"argv": ["id"]}}',
        '说明 {"x": 1}\n  {"name": "sandbox_exec", "args": {}}',
    ],
)
def test_a_call_as_json_is_corrected_wherever_it_stands(text: str) -> None:
    checked = check_turn(turn(text), TOOLS, set())

    assert checked.end is None
    assert checked.correction


@pytest.mark.parametrize(
    "text",
    [
        "我用 sandbox_exec 看过了：端口是 443。",
        '{"name": "nginx", "arguments": {"port": 443}}',
        f"工具如下：\n```json\n{DESCRIBED}\n```",
        '结果：\n```json\n{"ran": "sandbox_exec", "exit": 0}\n```',
        "sandbox_exec\n" + "{\n" * 5_000,
        "sandbox_exec\n" + "[" * 200_000,
        "sandbox_exec\n" + "\n" * 200_000,
    ],
)
def test_an_answer_that_only_speaks_of_tools_is_an_answer(text: str) -> None:
    assert not is_call_in_text(text, NAMES)


@pytest.mark.parametrize(
    "text",
    [
        '<tool_call>{"name": "bash", "arguments": {"cmd": "ls"}}</tool_call>',
        '<｜DSML｜tool_calls>\n<｜DSML｜invoke name="bash">\n</｜DSML｜invoke>',
        "<|channel|>commentary to=functions.bash <|message|>{}<|call|>",
        '好的。\n<invoke name="bash"><parameter name="cmd">ls</parameter></invoke>',
    ],
)
def test_a_call_in_marks_is_corrected_whichever_tool_it_names(text: str) -> None:
    checked = check_turn(turn(text), TOOLS, set())

    assert checked.end is None
    assert checked.correction


@pytest.mark.parametrize(
    "text",
    [
        "格式是 `<tool_call>` 加上 JSON。",
        '例子：\n```\n<tool_call>{"name": "bash"}</tool_call>\n```\n就是这样。',
        '好的，`<invoke name="bash">` 就是这种写法。',
    ],
)
def test_marks_that_are_shown_as_code_are_an_answer(text: str) -> None:
    assert not is_call_in_text(text, NAMES)
