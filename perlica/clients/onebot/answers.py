"""What NapCat answered to a call, and what that says about a message that was to be sent.

Used by the connection (readiness, catch-up) and by the outbox.
"""

import re
from collections.abc import Mapping
from enum import StrEnum
from typing import Any, Final

from perlica.clients.onebot.fields import Frame, text_of, whole_number
from perlica.domain.ids import MessageId

BAD_TOKEN: Final = 1403
_NEVER_RAN: Final = frozenset({1400, 1403, 1404})
_FAILED: Final = 1200
_KERNEL_REFUSED: Final = "EventChecker Failed"
_KERNEL_RESULT: Final = re.compile(r'"result"\s*:\s*(-?\d{1,12})', re.ASCII)
_BEFORE_SENDING: Final = ("消息体无法解析", "未知的消息类型", "请指定正确的 group_id")
_UNKNOWN_MENTION: Final = "Get Uid Error"


class SendOutcome(StrEnum):
    """What became of a message, and so what may be done next.

    Everything but `sent` and `unknown` says for certain that the group did not get it.
    """

    sent = "sent"
    not_sent_retry = "not_sent_retry"
    refused_muted = "refused_muted"
    refused_removed = "refused_removed"
    refused_content = "refused_content"
    unknown_mention = "unknown_mention"
    offline = "offline"
    unknown = "unknown"


_KERNEL_OUTCOMES: Final[Mapping[int | None, SendOutcome]] = {
    120: SendOutcome.refused_muted,
    110: SendOutcome.refused_removed,
    1006514: SendOutcome.offline,
    -1: SendOutcome.refused_content,
}


def is_answer(frame: Frame) -> bool:
    """Whether the frame answers a call (an event has a `post_type`)."""
    return "retcode" in frame and "post_type" not in frame


def is_token_refusal(frame: Frame) -> bool:
    """Whether NapCat said that our token is wrong; it does so after a good handshake (S20)."""
    return is_answer(frame) and whole_number(frame.get("retcode")) == BAD_TOKEN


def succeeded(response: Frame | None) -> bool:
    """Whether a call was carried out."""
    if response is None or response.get("status") != "ok":
        return False
    return whole_number(response.get("retcode")) == 0


def fields_of(response: Frame | None) -> Mapping[str, Any]:
    """The `data` object of a successful answer, else {}."""
    found = response.get("data") if response is not None and succeeded(response) else None
    return found if isinstance(found, dict) else {}


def messages_of(response: Frame | None) -> list[Frame] | None:
    """The raw messages of a history answer; None when the history could not be read."""
    found = fields_of(response).get("messages")
    if not isinstance(found, list):
        return None
    return [message for message in found if isinstance(message, dict)]


def sent_id(response: Frame) -> MessageId | None:
    """The id of the message that was sent, None when the answer gives none."""
    number = whole_number(fields_of(response).get("message_id"))
    return None if number is None else MessageId(number)


def classify_send_failure(response: Frame) -> SendOutcome:
    """What an answer to a send says; every answer that is not known for certain is `unknown`.

    The texts are those of NapCat 4.18: "EventChecker Failed" means that QQ refused, "Timeout" that
    QQ took the message and nobody knows whether it was delivered (S01 to S03).
    """
    if succeeded(response):
        return SendOutcome.unknown if sent_id(response) is None else SendOutcome.sent
    retcode = whole_number(response.get("retcode"))
    if retcode in _NEVER_RAN:
        return SendOutcome.not_sent_retry
    if retcode != _FAILED:
        return SendOutcome.unknown
    message = text_of(response.get("message"))
    if message.startswith(_KERNEL_REFUSED):
        return _classify_refusal(message)
    if message.startswith(_BEFORE_SENDING):
        return SendOutcome.refused_content
    return SendOutcome.unknown_mention if message == _UNKNOWN_MENTION else SendOutcome.unknown


def says_removed(response: Frame) -> bool:
    """Whether QQ refused because the account is no member of the group."""
    return classify_send_failure(response) is SendOutcome.refused_removed


def _classify_refusal(message: str) -> SendOutcome:
    result = _KERNEL_RESULT.search(message)
    number = int(result[1]) if result else None
    if number == 0:
        return SendOutcome.unknown
    return _KERNEL_OUTCOMES.get(number, SendOutcome.not_sent_retry)
