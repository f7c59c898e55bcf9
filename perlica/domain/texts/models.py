"""What is wrong with the model's service, in words: why, and what an operator may do about it.

The codes are those of `perlica.clients.model`; each leads to one reason of a task's end. Said by
the final message, `.status`, the console and `perlica doctor --online`; never a provider's words.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final

from perlica.domain.task import EndReason
from perlica.domain.texts.language import Text


@dataclass(frozen=True, slots=True, kw_only=True)
class ModelTrouble:
    """One kind of trouble; `is_service` says that every task would meet it, not this one alone."""

    what: Text
    remedy: Text
    is_service: bool = True


_WAIT: Final = Text(
    zh="稍后再试；一直这样就看服务商的状态页", en="try later, or look at the provider"
)
_LIMITS: Final = Text(
    zh="稍后再试；常常这样就向服务商申请更高的限额", en="try later, or ask the provider for more"
)

TROUBLES: Final[Mapping[EndReason, ModelTrouble]] = {
    EndReason.model_key: ModelTrouble(
        what=Text(zh="模型服务不认密钥", en="the model service rejects the key"),
        remedy=Text(
            zh="核对 model.key_file 里的密钥是否完整、有没有过期",
            en="compare the key in model.key_file; it may have expired",
        ),
    ),
    EndReason.model_forbidden: ModelTrouble(
        what=Text(zh="模型服务不让这个账号使用", en="the model service forbids this account"),
        remedy=Text(
            zh="在服务商那里开通这个模型，或看账号和地区有没有受限",
            en="allow the model for the account, or look whether account or region is restricted",
        ),
    ),
    EndReason.model_balance: ModelTrouble(
        what=Text(
            zh="模型账号的余额或额度用完了", en="the model account has no balance or quota left"
        ),
        remedy=Text(zh="给模型账号充值或提高额度", en="top up the account or raise its quota"),
    ),
    EndReason.model_unknown: ModelTrouble(
        what=Text(
            zh="模型服务没有这个地址或这个模型",
            en="the model service knows no such address or model",
        ),
        remedy=Text(
            zh="核对 model.base_url 和 model.name", en="compare model.base_url and model.name"
        ),
    ),
    EndReason.model_settings: ModelTrouble(
        what=Text(zh="模型的设置不对", en="the model's settings are not right"),
        remedy=Text(
            zh="执行 perlica doctor --online，按日志里的代码改 [model] 一节",
            en="run perlica doctor --online; the code in the log names the setting of [model]",
        ),
    ),
    EndReason.model_rate_limited: ModelTrouble(
        what=Text(zh="模型服务限制了请求频率", en="the model service limits the rate"),
        remedy=_LIMITS,
    ),
    EndReason.model_overloaded: ModelTrouble(
        what=Text(zh="模型服务过载", en="the model service is overloaded"), remedy=_WAIT
    ),
    EndReason.model_server_error: ModelTrouble(
        what=Text(zh="模型服务自己出错了", en="the model service has a fault of its own"),
        remedy=_WAIT,
    ),
    EndReason.model_connection_refused: ModelTrouble(
        what=Text(zh="模型服务拒绝连接", en="the model service refuses the connection"),
        remedy=Text(
            zh="看模型服务有没有在运行，核对 model.base_url 的端口",
            en="see whether the service runs, and compare the port in model.base_url",
        ),
    ),
    EndReason.model_dns: ModelTrouble(
        what=Text(zh="模型服务的域名解析不了", en="the model service's name cannot be looked up"),
        remedy=Text(
            zh="核对 model.base_url 和本机的 DNS", en="compare model.base_url, look at DNS"
        ),
    ),
    EndReason.model_tls: ModelTrouble(
        what=Text(zh="和模型服务的 TLS 连接建立不了", en="no TLS connection to the model service"),
        remedy=Text(
            zh="核对域名和证书：证书要没有过期，并由公认的机构签发",
            en="compare name and certificate: it must be valid and of a public authority",
        ),
    ),
    EndReason.model_unreachable: ModelTrouble(
        what=Text(zh="连不上模型服务", en="the model service cannot be reached"),
        remedy=Text(zh="看网络、代理和防火墙", en="look at network, proxy and firewall"),
    ),
    EndReason.model_timeout: ModelTrouble(
        what=Text(zh="模型服务没有及时应答", en="the model service did not answer in time"),
        remedy=_WAIT,
    ),
    EndReason.model_bad_answer: ModelTrouble(
        what=Text(
            zh="模型服务的应答不合规矩", en="the model service's answer is not what it should be"
        ),
        remedy=Text(
            zh="核对 model.api 和 model.base_url（常以 /v1 结尾）",
            en="compare model.api and model.base_url, which often ends in /v1",
        ),
    ),
    EndReason.incomplete_answer: ModelTrouble(
        what=Text(zh="模型的回答中途断了", en="the model's answer broke off in the middle"),
        remedy=Text(
            zh="稍后再试；回答很长时调高 model.max_output_tokens",
            en="try later; raise model.max_output_tokens where answers are long",
        ),
        is_service=False,
    ),
    EndReason.model_filtered: ModelTrouble(
        what=Text(
            zh="模型服务的内容过滤拦下了它", en="the model service's content filter stopped it"
        ),
        remedy=Text(zh="换个说法再试", en="try other words"),
        is_service=False,
    ),
    EndReason.model_input_too_long: ModelTrouble(
        what=Text(
            zh="对话超过了模型能读的长度", en="the conversation is longer than the model can read"
        ),
        remedy=Text(
            zh="分成几步来问，或调低 model.context_tokens",
            en="ask step by step, or lower model.context_tokens",
        ),
        is_service=False,
    ),
    EndReason.model_refused: ModelTrouble(
        what=Text(zh="模型服务拒绝了请求", en="the model service refused the request"),
        remedy=Text(
            zh="执行 perlica doctor --online；核对 model.api 和 model.dialect",
            en="run perlica doctor --online, and compare model.api and model.dialect",
        ),
        is_service=False,
    ),
    EndReason.model_failed: ModelTrouble(
        what=Text(zh="模型服务没有响应或出错", en="the model service failed or did not answer"),
        remedy=_WAIT,
    ),
}

REASON_OF: Final[Mapping[str, EndReason]] = {
    "model_key_rejected": EndReason.model_key,
    "model_key_unreadable": EndReason.model_key,
    "model_key_malformed": EndReason.model_key,
    "model_forbidden": EndReason.model_forbidden,
    "model_balance": EndReason.model_balance,
    "model_spend_limit": EndReason.model_balance,
    "model_name": EndReason.model_unknown,
    "model_not_found": EndReason.model_unknown,
    "model_dialect": EndReason.model_settings,
    "model_max_tokens_field": EndReason.model_settings,
    "model_redirected": EndReason.model_settings,
    "model_settings": EndReason.model_settings,
    "model_encoded_answer": EndReason.model_settings,
    "model_rate_limited": EndReason.model_rate_limited,
    "model_overloaded": EndReason.model_overloaded,
    "model_server_error": EndReason.model_server_error,
    "model_stream_error": EndReason.model_server_error,
    "model_connection_refused": EndReason.model_connection_refused,
    "model_dns": EndReason.model_dns,
    "model_tls": EndReason.model_tls,
    "model_tls_untrusted": EndReason.model_tls,
    "model_ca_unreadable": EndReason.model_tls,
    "model_unreachable": EndReason.model_unreachable,
    "model_stream_cut": EndReason.incomplete_answer,
    "model_connect_deadline": EndReason.model_timeout,
    "model_first_token_deadline": EndReason.model_timeout,
    "model_between_tokens_deadline": EndReason.model_timeout,
    "model_attempt_deadline": EndReason.model_timeout,
    "model_total_deadline": EndReason.model_timeout,
    "model_bad_stream": EndReason.model_bad_answer,
    "model_bad_finish": EndReason.model_bad_answer,
    "model_no_api": EndReason.model_bad_answer,
    "model_content_refused": EndReason.model_filtered,
    "model_context_too_long": EndReason.model_input_too_long,
    "model_request_too_large": EndReason.model_input_too_long,
    "model_request_refused": EndReason.model_refused,
    "model_answer_too_large": EndReason.too_large,
    "model_too_many_calls": EndReason.too_large,
}
"""Why a task ends when its model turn failed with this code."""
