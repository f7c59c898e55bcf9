"""What NapCat answers to the actions a bot calls, with the texts and return codes as measured.

The call handler parses a frame, picks the action here and wraps what it returns or raises.
Source: docs/facts/napcat.md.
"""

import base64
from collections.abc import Callable
from dataclasses import replace
from typing import Any

from perlica.demo.napcat.account import Member
from perlica.demo.napcat.events import Frame, MessageFormat, group_message
from perlica.demo.napcat.kernel import Kernel
from perlica.demo.napcat.message import Message

Params = dict[str, Any]
FAILED = 1200
BAD_REQUEST = 1400
UNKNOWN_ACTION = 1404
BAD_TOKEN = 1403
HISTORY_COUNT = 20
CONTAINER_FOLDER = "/app/.config/QQ/nt_qq/Pic"
APP_VERSION = "4.18.19"
_MISSING_PROPERTY = "Schema compilation error: Expected required property"


class ActionFailed(Exception):
    """The action answers `failed` with this return code and text."""

    def __init__(self, text: str, retcode: int = FAILED) -> None:
        """Keep the text, which NapCat repeats as `message` and `wording`."""
        super().__init__(text)
        self.text = text
        self.retcode = retcode


class NeverAnswered(Exception):
    """NapCat raises before it can answer: the caller hears nothing at all."""


def get_login_info(kernel: Kernel, _params: Params, _form: MessageFormat) -> object:
    """Number and nickname of the account."""
    return {"user_id": kernel.self_id, "nickname": kernel.account.nickname}


def get_status(kernel: Kernel, _params: Params, _form: MessageFormat) -> object:
    """Whether QQ is online."""
    return {"online": kernel.online, "good": True, "stat": {}}


def get_version_info(_kernel: Kernel, _params: Params, _form: MessageFormat) -> object:
    """Name and version of NapCat."""
    return {
        "app_name": "NapCat.Onebot",
        "protocol_version": "v11",
        "app_version": APP_VERSION,
    }


def get_group_member_info(kernel: Kernel, params: Params, _form: MessageFormat) -> object:
    """One member, when the cache has him.

    Raises: ActionFailed when there is no such member.
    """
    group_id, user_id = _required(params, "group_id"), _required(params, "user_id")
    member = kernel.member(_number(group_id), _number(user_id))
    if member is None:
        raise ActionFailed(f"群({group_id})成员{user_id}不存在")
    return _member_fields(_number(group_id), member)


def _member_fields(group_id: int, member: Member) -> Frame:
    return {
        "group_id": group_id,
        "user_id": member.user_id,
        "nickname": member.nickname,
        "card": member.card,
        "sex": "unknown",
        "age": 0,
        "area": "",
        "level": "10",
        "qq_level": 0,
        "join_time": 1700000000,
        "last_sent_time": 1700000100,
        "title_expire_time": 0,
        "unfriendly": False,
        "card_changeable": True,
        "is_robot": False,
        "shut_up_timestamp": 0,
        "role": member.role,
        "title": "",
    }


def get_msg(kernel: Kernel, params: Params, form: MessageFormat) -> object:
    """One message by its public id, while NapCat knows it.

    Raises: ActionFailed when there is no such message.
    """
    message = kernel.find(_number(_required(params, "message_id")))
    if message is None:
        raise ActionFailed("消息不存在")
    if kernel.history.is_recalled(message):
        raise ActionFailed("消息不存在或已被撤回")
    return {**_shown(kernel, message, form), "emoji_likes_list": []}


def get_group_msg_history(kernel: Kernel, params: Params, form: MessageFormat) -> object:
    """The latest messages, or those from an anchor on, forward or backward; always oldest first.

    Raises: ActionFailed when the message to begin at is unknown.
    """
    group_id = _number(_required(params, "group_id"))
    anchor = params.get("message_seq")
    has_anchor = str(anchor) not in {"None", "", "0"}
    messages = kernel.readable(group_id)
    count = _number(params.get("count", HISTORY_COUNT))
    backward = bool(params.get("reverse_order") or params.get("reverseOrder"))
    if has_anchor:
        messages = _around(kernel, messages, _number(anchor), backward=backward)
    page = messages[-count:] if backward or not has_anchor else messages[:count]
    if not page or count < 1:
        raise ActionFailed(f"消息{'undefined' if anchor is None else anchor}不存在")
    for message in page:
        kernel.known_ids.remember(message)
    shown = (_shown(kernel, message, form) for message in page)
    if params.get("disable_get_url"):
        shown = (_without_links(frame) for frame in shown)
    return {"messages": list(shown)}


def _around(
    kernel: Kernel, messages: tuple[Message, ...], message_id: int, *, backward: bool
) -> tuple[Message, ...]:
    anchor = kernel.find(message_id)
    if anchor is None or anchor not in messages:
        return ()
    at = messages.index(anchor)
    return messages[: at + 1] if backward else messages[at:]


def _shown(kernel: Kernel, message: Message, form: MessageFormat) -> Frame:
    if kernel.history.is_recalled(message):
        message = replace(message, segments=())
    sender = kernel.member(message.group_id, message.user_id)
    return group_message(message, kernel.account, sender, form)


def _without_links(frame: Frame) -> Frame:
    if isinstance(frame["message"], str):
        return frame
    segments = [
        {"type": s["type"], "data": {**s["data"], "url": f"{CONTAINER_FOLDER}/{s['data']['file']}"}}
        if "url" in s["data"]
        else s
        for s in frame["message"]
    ]
    return {**frame, "message": segments}


def get_file(kernel: Kernel, params: Params, _form: MessageFormat) -> object:
    """Where a file of a message lies; its bytes too when the stand-in was given them.

    Raises: ActionFailed when there is no such file.
    """
    wanted = str(params.get("file") or params.get("file_id") or "")
    for group in kernel.account.groups:
        for message in reversed(kernel.readable(group.group_id)):
            for segment in message.segments:
                fields = segment["data"]
                if wanted and wanted in {fields.get("file"), fields.get("file_id")}:
                    return _file_fields(kernel, fields)
    raise ActionFailed("file not found")


def _file_fields(kernel: Kernel, fields: dict[str, Any]) -> Frame:
    path = f"{CONTAINER_FOLDER}/{fields['file']}"
    found = {
        "file": path,
        "url": fields.get("url", path),
        "file_size": fields.get("file_size", ""),
        "file_name": fields["file"],
    }
    content = kernel.files.get(fields["file"])
    if content is not None:
        found["base64"] = base64.b64encode(content).decode()
    return found


def set_msg_emoji_like(kernel: Kernel, params: Params, _form: MessageFormat) -> object:
    """React to a message with an emoticon, or take the reaction back.

    Raises: ActionFailed when there is no such message.
    """
    message_id, emoji_id = _required(params, "message_id"), _required(params, "emoji_id")
    message = kernel.find(_number(message_id))
    if message is None:
        raise ActionFailed("msg not found")
    kernel.react(message, str(emoji_id), is_added=params.get("set", True) not in {False, "false"})
    return {"result": 0, "errMsg": ""}


def delete_msg(kernel: Kernel, params: Params, _form: MessageFormat) -> object:
    """Take a message back.

    Raises: ActionFailed when there is no such message.
    """
    message = kernel.find(_number(_required(params, "message_id")))
    if message is None:
        raise ActionFailed("Recall failed")
    kernel.recall(message)
    return None


def mark_msg_as_read(_kernel: Kernel, params: Params, _form: MessageFormat) -> object:
    """Mark a conversation as read.

    Raises: ActionFailed when there is no such message.
    """
    if not params.get("group_id") and not params.get("user_id"):
        raise ActionFailed("缺少参数 group_id 或 user_id")
    return None


def _required(params: Params, key: str) -> object:
    if key not in params or params[key] is None:
        raise ActionFailed(_MISSING_PROPERTY, BAD_REQUEST)
    return params[key]


def _number(value: object) -> int:
    """An id given as number or digits; anything else is an id nobody has."""
    try:
        return int(str(value))
    except ValueError:
        return -1


Action = Callable[[Kernel, Params, MessageFormat], object]
ACTIONS: dict[str, Action] = {
    "get_login_info": get_login_info,
    "get_status": get_status,
    "get_version_info": get_version_info,
    "get_group_member_info": get_group_member_info,
    "get_msg": get_msg,
    "get_group_msg_history": get_group_msg_history,
    "get_image": get_file,
    "get_file": get_file,
    "set_msg_emoji_like": set_msg_emoji_like,
    "delete_msg": delete_msg,
    "mark_msg_as_read": mark_msg_as_read,
}
