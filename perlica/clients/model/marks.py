"""Marks that servers leave in a model's text although they belong to the protocol: tables.

`perlica.clients.model.thinking_text` takes thinking and frames away with them; the marks of calls
stand in `perlica.runtimes.call_marks`.
"""

from dataclasses import dataclass
from typing import Final


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
