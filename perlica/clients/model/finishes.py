"""How a turn ended, in every spelling that servers were seen to use: a table, one word a row.

Read by the readers of both APIs. A word that is not here is a fault of the attempt, as are those
whose row says so; "not yet" is a placeholder that some servers send with every piece.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final

from perlica.clients.model.attempt_failure import AttemptFailure
from perlica.clients.model.contract import Finish


@dataclass(frozen=True, slots=True, kw_only=True)
class FinishRow:
    """One spelling: `finish` is None for a fault; `source` says who was seen to send it."""

    word: str
    finish: Finish | None
    source: str


def _rows(finish: Finish | None, sources: Mapping[str, str]) -> tuple[FinishRow, ...]:
    return tuple(FinishRow(word=word, finish=finish, source=by) for word, by in sources.items())


FINISHES: Final[tuple[FinishRow, ...]] = (
    *_rows(
        Finish.stop,
        {
            "stop": "OpenAI: finish_reason; Gemini's STOP",
            "end": "clients of several servers, docs/facts/models.md",
            "eos": "vLLM and TGI derivatives",
            "eos_token": "TGI: finish_reason; spring-ai pull request 4900",
            "end_turn": "Anthropic: stop_reason",
            "stop_sequence": "Anthropic: stop_reason; TGI",
            "complete": "Cohere: finish_reason COMPLETE",
            "completed": "OpenAI Responses proxies: status",
        },
    ),
    *_rows(
        Finish.calls,
        {
            "tool_calls": "OpenAI: finish_reason",
            "tool_call": "proxies of Qwen and Cohere (TOOL_CALL)",
            "tool_use": "Anthropic: stop_reason; proxies pass it on",
            "function_call": "OpenAI: finish_reason before tools",
            "function_calls": "proxies of several servers",
        },
    ),
    *_rows(
        Finish.length,
        {
            "length": "OpenAI: finish_reason",
            "max_tokens": "Anthropic: stop_reason; Gemini and Cohere MAX_TOKENS",
            "max_output_tokens": "OpenAI Responses proxies: incomplete_details.reason",
            "model_length": "Mistral: finish_reason",
            "model_context_window_exceeded": "Anthropic: stop_reason",
            "error_limit": "Cohere: finish_reason ERROR_LIMIT",
        },
    ),
    *_rows(
        Finish.filtered,
        {
            "content_filter": "OpenAI: finish_reason",
            "content_filtered": "Bedrock: stopReason",
            "guardrail_intervened": "Bedrock: stopReason",
            "sensitive": "Zhipu: finish_reason",
            "refusal": "Anthropic: stop_reason",
            "safety": "Gemini: FinishReason SAFETY",
            "recitation": "Gemini: FinishReason RECITATION",
            "blocklist": "Gemini: FinishReason BLOCKLIST",
            "prohibited_content": "Gemini: FinishReason PROHIBITED_CONTENT",
            "spii": "Gemini: FinishReason SPII",
            "error_toxic": "Cohere: finish_reason ERROR_TOXIC",
        },
    ),
    *_rows(
        None,
        {
            "pause_turn": "Anthropic: stop_reason of server tools, which we declare none of",
            "network_error": "Zhipu: finish_reason",
            "insufficient_system_resource": "DeepSeek: finish_reason",
            "error": "OpenRouter and Cohere: finish_reason",
            "abort": "SGLang and vLLM: finish_reason of an aborted request",
            "malformed_function_call": "Gemini: FinishReason MALFORMED_FUNCTION_CALL",
            "unexpected_tool_call": "Gemini: FinishReason UNEXPECTED_TOOL_CALL",
            "other": "Gemini: FinishReason OTHER",
            "load": "Ollama: done_reason of a model that was only loaded",
            "unknown": "proxies of several servers",
        },
    ),
)
NOT_YET: Final[Mapping[str, str]] = {
    "": "most servers: an empty text in every piece",
    "null": "Kimi and Qwen derivatives: the word null in every piece",
    "none": "Python servers: str(None) in every piece",
    "finish_reason_unspecified": "Gemini: FinishReason before the end",
}
"""Words that say nothing yet, with who was seen to send them."""

_BY_WORD: Final = {row.word: row.finish for row in FINISHES}


def read_finish(raw: object) -> Finish | None:
    """How the turn ended, None while it goes on.

    Raises: AttemptFailure for a fault or an unknown word.
    """
    if not isinstance(raw, str):
        return None
    word = raw.strip().lower().replace("-", "_").rpartition(".")[2]
    if word in NOT_YET:
        return None
    finish = _BY_WORD.get(word)
    if finish is None:
        raise AttemptFailure("model_bad_finish", "the model stopped for a reason that is a fault")
    return finish
