"""What a bot asks NapCat to say: parameters of `send_group_msg` become a draft for the kernel.

The call handler calls this before any fault or refusal of QQ itself is considered.
Source: docs/facts/napcat.md.
"""

from collections.abc import Iterable, Sequence
from typing import Any

from perlica.demo.napcat.actions import ActionFailed, NeverAnswered, Params
from perlica.demo.napcat.kernel import MEDIA_FAILED, Draft, Kernel
from perlica.demo.napcat.segments import Segment, at, decode_cq, reply, text

SENT_AS_GIVEN = frozenset({"face", "dice", "rps", "json", "markdown"})
MEDIA = frozenset({"image", "record", "video", "file"})
NEVER_SENT = frozenset(
    {"poke", "mface", "node", "forward", "xml", "music", "contact", "location", "miniapp"}
    | {"onlinefile", "flashtransfer"}
)
UNPARSEABLE = "消息体无法解析, 请检查是否发送了不支持的消息类型"


class RefusedByQq(Exception):
    """QQ itself refuses the message with this result code (docs/facts/napcat.md)."""

    def __init__(self, result: int) -> None:
        """Keep the code."""
        super().__init__(str(result))
        self.result = result


def draft_from(kernel: Kernel, params: Params) -> Draft:
    """The message a call asks for, as it will show in the group.

    Raises:
        NeverAnswered: there is no message at all, on which NapCat falls silent.
        ActionFailed: no group, an unknown segment, an at of nobody, or nothing left to send.
        RefusedByQq: it holds media, which the stand-in does not carry.
    """
    if params.get("message") is None:
        raise NeverAnswered
    wanted = _as_segments(
        params["message"], auto_escape=params.get("auto_escape") in {True, "true"}
    )
    group_id = str(params.get("group_id") or "")
    if not group_id.isdecimal():
        raise ActionFailed("请指定正确的 group_id 或 user_id")
    segments = _deliverable(kernel, wanted)
    return Draft(group_id=int(group_id), user_id=kernel.self_id, segments=segments)


def _as_segments(message: object, *, auto_escape: bool) -> Sequence[object]:
    if isinstance(message, str):
        return [text(message)] if auto_escape else decode_cq(message)
    return message if isinstance(message, list) else [message]


def _deliverable(kernel: Kernel, wanted: Iterable[object]) -> tuple[Segment, ...]:
    elements = [element for segment in wanted for element in _elements(kernel, segment)]
    if not elements:
        raise ActionFailed(UNPARSEABLE)
    return tuple(element for element in elements if element is not None)


def _elements(kernel: Kernel, segment: object) -> list[Segment | None]:
    """Nothing for a dropped segment, [None] for one that is sent but shows as nothing."""
    if not isinstance(segment, dict):
        raise ActionFailed("未知的消息类型：undefined")
    kind, fields = str(segment.get("type", "undefined")), segment.get("data")
    fields = fields if isinstance(fields, dict) else {}
    if kind == "text":
        content = fields.get("text")
        return [text(content) if isinstance(content, str) else None]
    if kind == "at":
        return [_checked_at(kernel, fields)]
    if kind == "reply":
        source = kernel.find(_digits(fields.get("id")))
        return [reply(source.message_id)] if source else []
    if kind in MEDIA:
        raise RefusedByQq(MEDIA_FAILED)
    if kind in SENT_AS_GIVEN:
        return [{"type": kind, "data": dict(fields)}]
    if kind in NEVER_SENT:
        return []
    raise ActionFailed(f"未知的消息类型：{kind}")


def _checked_at(kernel: Kernel, fields: dict[str, Any]) -> Segment:
    qq = str(fields.get("qq"))
    if qq != "all" and not kernel.knows_person(_digits(qq)):
        raise ActionFailed("Get Uid Error")
    return at(qq)


def _digits(value: object) -> int:
    content = str(value)
    return int(content) if content.isdecimal() else -1
