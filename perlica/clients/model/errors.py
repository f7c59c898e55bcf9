"""What providers say when they do not answer, and what each saying means: tables.

Read by `perlica.clients.model.error_mapping`. A saying is compared, never passed on. Each row names
who was seen to use it, or where it is documented; rows are asked in their order.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum
from typing import Final

from perlica.domain.errors import Misconfigured, PerlicaError, Refused

_OPENAI: Final = "OpenAI: guide to error codes"
_ZHIPU: Final = "Zhipu and Z.ai: docs.z.ai/api-reference/api-code"
_MINIMAX: Final = "MiniMax: platform.minimax.io/docs/api-reference/errorcode"
_ALIYUN: Final = "DashScope: alibabacloud.com/help/en/model-studio/error-code"
_ARK: Final = "Volcengine Ark: docs.byteplus.com/docs/ModelArk/1299023"
_NEW_API: Final = "One API and New API gateways"


@dataclass(frozen=True, slots=True, kw_only=True)
class Meaning:
    """What a saying means: `kind` is None where the same request may pass later."""

    kind: type[PerlicaError] | None
    text: str


MEANINGS: Final[Mapping[str, Meaning]] = {
    "model_context_too_long": Meaning(
        kind=Refused, text="the conversation is longer than the model can read"
    ),
    "model_content_refused": Meaning(
        kind=Refused, text="the provider's content filter refused the conversation"
    ),
    "model_dialect": Meaning(
        kind=Misconfigured, text="the provider wants its thinking replayed: set the model's dialect"
    ),
    "model_max_tokens_field": Meaning(
        kind=Misconfigured,
        text="the provider names the answer's limit otherwise: set max_tokens_field,"
        " or lower the limit",
    ),
    "model_balance": Meaning(kind=Misconfigured, text="the account has no balance or quota left"),
    "model_key_rejected": Meaning(kind=Misconfigured, text="the provider rejects the model's key"),
    "model_forbidden": Meaning(
        kind=Misconfigured, text="the key may not use this model, or its limit is reached"
    ),
    "model_name": Meaning(kind=Misconfigured, text="the provider does not know the model's name"),
    "model_overloaded": Meaning(kind=None, text="the provider is overloaded"),
    "model_rate_limited": Meaning(kind=None, text="the provider limits the rate"),
}


class Where(StrEnum):
    """`code`: the whole of a field for codes; `base_resp`: MiniMax's; `words`: anywhere, in lower
    case.
    """

    code = "code"
    base_resp = "base_resp"
    words = "words"


@dataclass(frozen=True, slots=True, kw_only=True)
class ErrorRow:
    """One saying, where it stands, the code of its meaning, and who says so."""

    where: Where
    saying: str
    means: str
    source: str


def _codes(means: str, source: str, sayings: str) -> tuple[ErrorRow, ...]:
    return tuple(
        ErrorRow(where=Where.code, saying=saying.lower(), means=means, source=source)
        for saying in sayings.split()
    )


def _words(means: str, source: str, *sayings: str) -> tuple[ErrorRow, ...]:
    return tuple(
        ErrorRow(where=Where.words, saying=saying.lower(), means=means, source=source)
        for saying in sayings
    )


def _minimax(means: str, codes: str) -> tuple[ErrorRow, ...]:
    return tuple(
        ErrorRow(where=Where.base_resp, saying=code, means=means, source=_MINIMAX)
        for code in codes.split()
    )


ERRORS: Final[tuple[ErrorRow, ...]] = (
    # --- codes: a whole field, so that nothing in a text can be taken for one ---
    *_codes("model_balance", _ZHIPU, "1113 1304 1308 1309"),
    *_codes("model_key_rejected", _ZHIPU, "1000 1001 1003 1004"),
    *_codes("model_forbidden", _ZHIPU, "1110 1111 1112 1121 1220"),
    *_codes("model_name", _ZHIPU, "1211"),
    *_codes("model_context_too_long", _ZHIPU, "1261"),
    *_codes("model_content_refused", _ZHIPU, "1301"),
    *_codes("model_rate_limited", _ZHIPU, "1302 1303"),
    *_codes("model_overloaded", _ZHIPU, "1305"),
    *_minimax("model_rate_limited", "1002 1041"),
    *_minimax("model_key_rejected", "1004 2049"),
    *_minimax("model_balance", "1008 2056"),
    *_minimax("model_content_refused", "1026 1027"),
    *_minimax("model_context_too_long", "1039"),
    *_codes("model_balance", _ALIYUN, "Arrearage AllocationQuota.FreeTierOnly"),
    *_codes("model_rate_limited", _ALIYUN, "Throttling Throttling.RateQuota"),
    *_codes("model_rate_limited", _ALIYUN, "Throttling.AllocationQuota Throttling.BurstRate"),
    *_codes("model_content_refused", _ALIYUN, "DataInspectionFailed data_inspection_failed"),
    *_codes("model_key_rejected", _ALIYUN, "InvalidApiKey invalid_api_key"),
    *_codes("model_forbidden", _ALIYUN, "AccessDenied AccessDenied.Unpurchased Model.AccessDenied"),
    *_codes("model_name", _ALIYUN, "ModelNotFound model_not_supported"),
    *_codes("model_balance", _ARK, "AccountOverdueError SetLimitExceeded QuotaExceeded"),
    *_codes("model_content_refused", _ARK, "SensitiveContentDetected"),
    *_codes(
        "model_content_refused",
        _ARK,
        "InputTextSensitiveContentDetected OutputTextSensitiveContentDetected",
    ),
    *_codes("model_name", _ARK, "InvalidEndpointOrModel.NotFound ModelNotOpen"),
    *_codes("model_overloaded", _ARK, "ServerOverloaded"),
    *_codes("model_key_rejected", _ARK, "AuthenticationError InvalidAccountStatus"),
    *_codes("model_balance", _OPENAI, "insufficient_quota billing_not_active"),
    *_codes("model_context_too_long", _OPENAI, "context_length_exceeded"),
    *_codes("model_name", _OPENAI, "model_not_found"),
    *_codes("model_content_refused", _OPENAI, "content_policy_violation content_filter"),
    *_codes("model_balance", "Kimi: exceeded_current_quota_error", "exceeded_current_quota_error"),
    *_codes("model_overloaded", "Kimi: engine_overloaded_error", "engine_overloaded_error"),
    *_codes("model_overloaded", "Anthropic: errors", "overloaded_error"),
    *_codes("model_rate_limited", "Anthropic: errors", "rate_limit_error"),
    *_codes("model_key_rejected", "Anthropic: errors", "authentication_error"),
    *_codes("model_forbidden", "Anthropic: errors", "permission_error"),
    *_codes("model_name", "Anthropic: errors", "not_found_error"),
    *_codes("model_balance", "Anthropic: errors", "billing_error"),
    *_codes("model_context_too_long", "llama.cpp: server", "exceed_context_size_error"),
    *_codes("model_balance", _NEW_API, "insufficient_user_quota pre_consume_token_quota_failed"),
    *_codes("model_content_refused", _NEW_API, "sensitive_words_detected prompt_blocked"),
    *_codes("model_balance", "SiliconFlow: error codes", "30001"),
    *_codes("model_name", "SiliconFlow: error codes", "20012"),
    *_codes("model_rate_limited", _OPENAI, "rate_limit_exceeded"),
    # --- words of messages ---
    *_words("model_rate_limited", "Gemini: names the quota of a minute", "perminuteper"),
    *_words("model_balance", "OpenAI: insufficient_quota inside a gateway's text",
            "insufficient_quota", "exceeded your current quota", "billing hard limit"),
    *_words("model_balance", "Kimi", "exceeded_current_quota", "suspended"),
    *_words("model_balance", "Anthropic", "credit balance", "billing details"),
    *_words("model_balance", "DeepSeek: 402 inside a gateway's text", "insufficient balance"),
    *_words("model_balance", "DashScope inside a gateway's text", "arrearage", "overdue-payment"),
    *_words("model_balance", "providers in Chinese", "余额不足", "账户已欠费", "欠费", "额度不足",
            "额度已用", "额度已耗尽", "配额已用", "无可用资源包", "请充值", "套餐已到期"),
    *_words("model_balance", "Gemini: quota of a day", "requestsperday"),
    *_words("model_context_too_long", "OpenAI and vLLM", "context_length", "maximum context"),
    *_words("model_context_too_long", "Anthropic", "prompt is too long", "context window",
            "input length and `max_tokens` exceed"),
    *_words("model_context_too_long", "Kimi", "exceeded model token limit"),
    *_words("model_context_too_long", _ZHIPU, "prompt exceeds max length", "prompt 超长"),
    *_words("model_context_too_long", _ALIYUN, "range of input length should be"),
    *_words("model_context_too_long", "llama.cpp: server", "exceeds the available context size"),
    *_words("model_context_too_long", "Gemini", "exceeds the maximum number of tokens allowed"),
    *_words("model_context_too_long", "SGLang, TGI", "longer than the model's context length",
            "`inputs` tokens + `max_new_tokens` must be"),
    *_words("model_context_too_long", "xAI, Mistral, Groq", "maximum prompt length",
            "too large for model with", "reduce the length of the messages"),
    *_words("model_context_too_long", "providers in Chinese", "输入长度超", "超过最大长度",
            "超出最大长度", "上下文长度超", "超过模型最大"),
    *_words("model_content_refused", "Azure, DashScope, DeepSeek, Kimi inside a gateway's text",
            "content_filter", "data_inspection", "content exists risk", "content_policy",
            "high risk", "datainspectionfailed"),
    *_words("model_content_refused", "providers in Chinese", "敏感内容", "不安全或敏感",
            "内容安全", "违规内容", "敏感词"),
    *_words("model_content_refused", "OpenRouter: 403", "requires moderation", "was flagged"),
    *_words("model_key_rejected", "Gemini: 400", "api key not valid", "api_key_invalid",
            "api key expired"),
    *_words("model_key_rejected", "OpenAI and DeepSeek inside a gateway's text",
            "incorrect api key", "authentication fails", "invalid api key", "invalid_api_key"),
    *_words("model_key_rejected", "providers in Chinese", "无效的令牌", "令牌已过期", "密钥无效",
            "身份验证失败", "鉴权失败"),
    *_words("model_forbidden", "OpenAI and Gemini: 400 and 403", "user location is not supported",
            "country, region, or territory not supported"),
    *_words("model_overloaded", "Kimi, Gemini, DeepSeek, Zhipu", "overloaded", "server is busy",
            "访问量过大", "服务繁忙", "系统繁忙", "负载已饱和", "当前api请求过多"),
    *_words("model_dialect", "DeepSeek and Kimi, docs/facts/models.md", "reasoning_content"),
    *_words("model_max_tokens_field", "OpenAI and Kimi", "max_completion_tokens", "'max_tokens'"),
    *_words("model_name", "OpenAI, DeepSeek, Ollama, vLLM inside a gateway's text",
            "model_not_found", "model not exist", "does not exist", "invalid model",
            "unknown model", "model is not found", "not a valid model id", "model not found"),
    *_words("model_name", "providers in Chinese", "模型不存在", "不支持的模型", "无可用渠道",
            "没有可用的渠道"),
)  # fmt: skip

BY_STATUS: Final[Mapping[int, tuple[str, Meaning]]] = {
    401: ("model_key_rejected", MEANINGS["model_key_rejected"]),
    402: ("model_balance", MEANINGS["model_balance"]),
    403: ("model_forbidden", MEANINGS["model_forbidden"]),
    404: (
        "model_not_found",
        Meaning(kind=Misconfigured, text="the address or the model's name does not exist"),
    ),
    413: (
        "model_request_too_large",
        Meaning(kind=Refused, text="the conversation is larger than the provider takes"),
    ),
    421: ("model_content_refused", MEANINGS["model_content_refused"]),
}
"""What a status means by itself (RFC 9110, docs/facts/models.md); 421 is MiMo's content filter."""

TRUER: Final[Mapping[int, frozenset[str]]] = {
    401: frozenset({"model_balance", "model_forbidden"}),
    402: frozenset(),
    403: frozenset({"model_balance", "model_content_refused", "model_key_rejected", "model_name"}),
    404: frozenset({"model_name"}),
    413: frozenset({"model_context_too_long"}),
    421: frozenset(),
}
"""Which sayings tell more than the status they come with."""
