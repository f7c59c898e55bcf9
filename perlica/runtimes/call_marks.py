"""Marks of a tool call that a server left in a model's text, although they belong to the protocol.

A table; `perlica.runtimes.calls_in_text` finds calls that were written as text with it.
"""

from dataclasses import dataclass
from typing import Final


@dataclass(frozen=True, slots=True, kw_only=True)
class CallMark:
    """`pattern` (a regular expression) finds it, `example` is what it looks like."""

    pattern: str
    example: str
    source: str


def _call(pattern: str, example: str, source: str) -> CallMark:
    return CallMark(pattern=pattern, example=example, source=source)


CALL_MARKS: Final[tuple[CallMark, ...]] = (
    _call(
        r"<\|?/?tool_calls?\b",
        "<tool_call>",
        "Hermes, Qwen, GLM, Hunyuan; Granite and Phi-4 with bars",
    ),
    _call(r"<\|/?tool_call_(?:start|begin|end)\|>", "<|tool_call_start|>", "LFM2; Kimi K2"),
    _call(r"<\|tool_calls_section_(?:begin|end)\|>", "<|tool_calls_section_begin|>", "Kimi K2"),
    _call(
        r"[<＜][|｜]tool▁(?:calls?▁(?:begin|end)|sep|outputs?▁begin)",
        "<｜tool▁calls▁begin｜>",
        "DeepSeek V3 and R1; with ASCII bars after a proxy",
    ),
    _call(
        r"<\s?/?\s?[|｜]\s?DSML\s?[|｜]",
        '<｜DSML｜invoke name="x">',
        "DeepSeek V3.2 and V4; vllm issue 30541",
    ),
    _call(r"<function(?:_calls?)?[=>\s]", "<function=x>", "Llama 3, Qwen3-Coder, Claude prompts"),
    _call(r"<(?:\w+:)?invoke\s", '<invoke name="x">', "Claude prompts; MiniMax; Step (steptml:)"),
    _call(r"<(?:minimax|seed|steptml):tool_call", "<minimax:tool_call>", "MiniMax M2; Seed-OSS"),
    _call(r"\]<\]minimax\[>\[", "]<]minimax[>[<tool_call>", "MiniMax M3: its issue 31"),
    _call(r"\[/?TOOL_CALLS?\]", "[TOOL_CALLS]", "Mistral"),
    _call(r"</?TOOLCALL>", "<TOOLCALL>[", "Nemotron"),
    _call(r"<\|python_tag\|>", "<|python_tag|>", "Llama 3.1"),
    _call(r"<\|action_start\|>", "<|action_start|><|plugin|>", "InternLM 2"),
    _call(r"<\|START_ACTION\|>", "<|START_ACTION|>", "Cohere Command A"),
    _call(
        r"<\|channel\|>\s*(?:commentary|analysis)\s+to=",
        "<|channel|>commentary to=functions.x",
        "gpt-oss: the harmony format",
    ),
    _call(
        r"(?:^|\s|>)to=functions\.\w",
        " to=functions.x<|message|>",
        "gpt-oss: harmony with its first marks cut off",
    ),
    _call(
        r"^[ \t]*functions\.\w+:\d+\s*(?:<\|tool_call_argument_begin\|>\s*)?\{",
        'functions.x:0{"a":1}',
        "Kimi K2, its marks cut off by the server",
    ),
    _call(r"<\|recipient\|>", "<|recipient|>x", "Functionary 2"),
    _call(r"^[ \t]*>>>\s?\w+\n\s*\{", '>>>x\n{"a":1}', "Functionary 3"),
    _call(r"^```tool_(?:code|call)", "```tool_code\nx()", "Gemma and Gemini without tools"),
    _call(r"^Action:\s*`?\w+`?\s*\n+Action Input:", "Action: x\nAction Input:", "ReAct prompts"),
)
