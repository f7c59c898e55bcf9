"""Marks that servers leave in a model's text although they belong to the protocol: tables.

`perlica.clients.model.thinking_text` takes thinking and frames away with them,
`perlica.session.native` finds calls that were written as text.
"""

from dataclasses import dataclass
from typing import Final


@dataclass(frozen=True, slots=True, kw_only=True)
class CallMark:
    """`pattern` (a regular expression) finds it, `example` is what it looks like."""

    pattern: str
    example: str
    source: str


@dataclass(frozen=True, slots=True, kw_only=True)
class ThinkMark:
    """What opens and closes thinking inside the text."""

    opening: str
    closing: str
    source: str


@dataclass(frozen=True, slots=True, kw_only=True)
class FrameMark:
    """A sign of the chat template around an answer, which is no part of it."""

    mark: str
    at_start: bool
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

THINK_MARKS: Final[tuple[ThinkMark, ...]] = (
    ThinkMark(opening="<think>", closing="</think>", source="DeepSeek R1, Qwen 3, GLM, MiniMax"),
    ThinkMark(opening="<thinking>", closing="</thinking>", source="Claude prompts; Reflection"),
    ThinkMark(opening="<thought>", closing="</thought>", source="Gemini's OpenAI interface"),
    ThinkMark(opening="<reasoning>", closing="</reasoning>", source="fine-tunes with GRPO"),
    ThinkMark(opening="<seed:think>", closing="</seed:think>", source="Seed-OSS"),
    ThinkMark(opening="[THINK]", closing="[/THINK]", source="Mistral: Magistral"),
    ThinkMark(opening="◁think▷", closing="◁/think▷", source="Kimi-VL"),
    ThinkMark(
        opening="<|begin_of_thought|>", closing="<|end_of_thought|>", source="Sky-T1, OpenThinker"
    ),
    ThinkMark(
        opening="<|START_THINKING|>",
        closing="<|END_THINKING|>",
        source="Cohere Command A",
    ),
    ThinkMark(opening="<unused94>", closing="<unused95>", source="MedGemma"),
    ThinkMark(
        opening="<|channel|>analysis<|message|>", closing="<|end|>", source="gpt-oss: harmony"
    ),
)

FRAME_MARKS: Final[tuple[FrameMark, ...]] = (
    FrameMark(mark="<|start|>assistant", at_start=True, source="gpt-oss: harmony"),
    FrameMark(mark="<|channel|>final<|message|>", at_start=True, source="gpt-oss: harmony"),
    FrameMark(mark="<|START_RESPONSE|>", at_start=True, source="Cohere Command A"),
    FrameMark(mark="<|begin_of_solution|>", at_start=True, source="Sky-T1, OpenThinker"),
    FrameMark(mark="<|return|>", at_start=False, source="gpt-oss: harmony"),
    FrameMark(mark="<|END_RESPONSE|>", at_start=False, source="Cohere Command A"),
    FrameMark(mark="<|end_of_solution|>", at_start=False, source="Sky-T1, OpenThinker"),
    FrameMark(mark="<|im_end|>", at_start=False, source="ChatML: Qwen"),
    FrameMark(mark="<|eot_id|>", at_start=False, source="Llama 3"),
    FrameMark(mark="<|endoftext|>", at_start=False, source="GPT, Qwen base models"),
    FrameMark(mark="<｜end▁of▁sentence｜>", at_start=False, source="DeepSeek"),
    FrameMark(mark="<end_of_turn>", at_start=False, source="Gemma"),
)
