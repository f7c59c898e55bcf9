"""Calls to NapCat as frames: what may be called at all, and sending.

The socket refuses every action that is not listed here, whoever asks.
"""

import uuid
from typing import Any, Final

from perlica.clients.onebot.fields import Frame
from perlica.domain.errors import Refused
from perlica.domain.ids import GroupId, MessageId, UserId
from perlica.protection import Protected

SEND: Final = "send_group_msg"
ALLOWED_ACTIONS: Final = frozenset(
    {
        SEND,
        "get_file",
        "get_group_member_info",
        "get_group_msg_history",
        "get_image",
        "get_login_info",
        "get_msg",
        "get_status",
        "get_version_info",
        "set_msg_emoji_like",
    }
)
"""The same socket offers `get_cookies`, `bot_exit`, `set_group_kick` and more: never from here."""


def new_echo() -> str:
    """A fresh echo: an answer is told apart by it, and NapCat repeats a call whose echo repeats."""
    return uuid.uuid4().hex


def build_call(action: str, params: Frame, *, echo: str) -> dict[str, Any]:
    """The frame of a call.

    Raises: Refused when the action is not on the list.
    """
    if action not in ALLOWED_ACTIONS:
        raise Refused("action_not_allowed", "this NapCat action is not on the list")
    return {"action": action, "params": dict(params), "echo": echo}


def build_send(
    group_id: GroupId,
    text: Protected,
    *,
    reply_to: MessageId | None,
    at_user: UserId | None,
    echo: str,
    timeout_ms: int,
) -> dict[str, Any]:
    """The frame that sends `text` to the group, after a quote and a mention if asked for.

    Always segments, never a string: NapCat reads CQ codes in strings, also those of a model (S25).
    Ids are strings, because NapCat rounds large numbers.

    Raises: Refused when the text was not scanned to its end or is empty.
    """
    if not text.is_usable or not text.content.strip():
        raise Refused("nothing_to_send", "a text that is empty or was not scanned is not sent")
    params = {
        "group_id": str(group_id),
        "message": _segments(text.content, reply_to, at_user),
        "timeout": timeout_ms,
    }
    return build_call(SEND, params, echo=echo)


def _segments(
    content: str, reply_to: MessageId | None, at_user: UserId | None
) -> list[dict[str, Any]]:
    segments: list[dict[str, Any]] = []
    if reply_to is not None:
        segments.append({"type": "reply", "data": {"id": str(reply_to)}})
    if at_user is not None:
        segments.append({"type": "at", "data": {"qq": str(at_user)}})
        content = f" {content}"
    segments.append({"type": "text", "data": {"text": content}})
    return segments
