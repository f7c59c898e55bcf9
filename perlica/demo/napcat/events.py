"""The event frames NapCat pushes: messages, notices and meta events, key by key as recorded.

The stand-in draws them from the kernel and sends them to every connection that takes events.
Source: docs/facts/napcat.md.
"""

import time
from typing import Any, Literal

from perlica.demo.napcat.account import Account, Member
from perlica.demo.napcat.message import Message
from perlica.demo.napcat.segments import Segment

Frame = dict[str, Any]
MessageFormat = Literal["array", "string"]
UPLOAD_BUSID = 102


def lifecycle(self_id: int) -> Frame:
    """The first event of a connection."""
    return {
        **_base(self_id, "meta_event"),
        "meta_event_type": "lifecycle",
        "sub_type": "connect",
    }


def heartbeat(self_id: int, *, online: bool, interval_ms: int) -> Frame:
    """The periodic sign of life; `online` is QQ's state, the connection may stay up without it."""
    return {
        **_base(self_id, "meta_event"),
        "meta_event_type": "heartbeat",
        "status": {"online": online, "good": True},
        "interval": interval_ms,
    }


def group_message(
    message: Message, account: Account, sender: Member | None, form: MessageFormat
) -> Frame:
    """A message as history and `get_msg` show it; an own one is `message_sent`."""
    is_own = message.user_id == account.user_id
    own = {"message_sent_type": "self"} if is_own else {}
    return {
        "self_id": account.user_id,
        "user_id": message.user_id,
        "time": message.sent_at_s,
        "message_id": message.message_id,
        "message_seq": message.message_id,
        "real_id": message.message_id,
        "real_seq": str(message.real_seq),
        "message_type": "group",
        "sender": _sender(message.user_id, sender),
        "raw_message": message.raw,
        "font": 14,
        "sub_type": "normal",
        "message": message.raw if form == "string" else list(message.segments),
        "message_format": form,
        "post_type": "message_sent" if is_own else "message",
        **own,
        "group_id": message.group_id,
        "group_name": account.group(message.group_id).name,
    }


def pushed_message(
    message: Message, account: Account, sender: Member | None, form: MessageFormat
) -> Frame:
    """A message as an event: an own one also names its target."""
    frame = group_message(message, account, sender, form)
    if message.user_id == account.user_id:
        frame["target_id"] = message.group_id
    return frame


def _sender(user_id: int, member: Member | None) -> Frame:
    if member is None:
        return {"user_id": user_id, "nickname": "", "card": ""}
    return {
        "user_id": user_id,
        "nickname": member.nickname,
        "card": member.card,
        "role": member.role,
    }


def group_notice(self_id: int, *, group_id: int, user_id: int, notice_type: str) -> Frame:
    """The head every group notice begins with."""
    return {
        **_base(self_id, "notice"),
        "group_id": group_id,
        "user_id": user_id,
        "notice_type": notice_type,
    }


def group_recall(self_id: int, message: Message, operator_id: int) -> Frame:
    """Somebody took a message back."""
    head = group_notice(
        self_id,
        group_id=message.group_id,
        user_id=message.user_id,
        notice_type="group_recall",
    )
    return {**head, "operator_id": operator_id, "message_id": message.message_id}


def group_upload(self_id: int, message: Message, file: Segment) -> Frame:
    """A file came into the group; sent beside the message that carries it."""
    head = group_notice(
        self_id,
        group_id=message.group_id,
        user_id=message.user_id,
        notice_type="group_upload",
    )
    fields = file["data"]
    return {
        **head,
        "file": {
            "id": fields["file_id"],
            "name": fields["file"],
            "size": int(fields["file_size"]),
            "busid": UPLOAD_BUSID,
        },
    }


def group_ban(
    self_id: int, *, group_id: int, user_id: int, operator_id: int, duration_s: int
) -> Frame:
    """Somebody was muted, or with duration 0 may speak again; user 0, -1 is the whole group."""
    head = group_notice(self_id, group_id=group_id, user_id=user_id, notice_type="group_ban")
    sub_type = "ban" if duration_s else "lift_ban"
    return {**head, "operator_id": operator_id, "duration": duration_s, "sub_type": sub_type}


def group_card(self_id: int, *, group_id: int, user_id: int, new: str, old: str) -> Frame:
    """A member's card changed."""
    head = group_notice(self_id, group_id=group_id, user_id=user_id, notice_type="group_card")
    return {**head, "card_new": new, "card_old": old}


def group_decrease(
    self_id: int, *, group_id: int, user_id: int, operator_id: int, sub_type: str
) -> Frame:
    """Somebody left or was removed (`leave`, `kick`, `kick_me`, `disband`)."""
    head = group_notice(self_id, group_id=group_id, user_id=user_id, notice_type="group_decrease")
    return {**head, "sub_type": sub_type, "operator_id": operator_id}


def bot_offline(self_id: int, tag: str, message: str) -> Frame:
    """QQ logged the account out; the connection stays."""
    return {
        **_base(self_id, "notice"),
        "notice_type": "bot_offline",
        "user_id": self_id,
        "tag": tag,
        "message": message,
    }


def _base(self_id: int, post_type: str) -> Frame:
    return {"time": int(time.time()), "self_id": self_id, "post_type": post_type}
