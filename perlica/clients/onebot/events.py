"""Frames that NapCat pushes, or gives from its history, as values of the domain.

The connection compares `group_of` first; only frames of our group reach the parsers, in intake.
"""

import re
from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum
from typing import Any

from perlica.clients.onebot.cq import split_codes
from perlica.clients.onebot.fields import (
    Frame,
    positive_number,
    required,
    text_of,
    time_ms,
    whole_number,
)
from perlica.clients.onebot.segments import read_segment
from perlica.clients.onebot.text import hash_text, one_line
from perlica.domain.ids import GroupId, MessageId, UserId
from perlica.domain.message import IncomingGroupMessage, Segment, SegmentKind

_LONGEST_NAME = 256
_MESSAGE_TYPES = ("message", "message_sent")
_COMMAND_START = re.compile(r"\s{0,99}(?:\[CQ:at,[^\]]{1,99}\]\s{0,99}){0,3}[.．。]")


class NoticeKind(StrEnum):
    """Notices that change something for Perlica; the rest is `other`."""

    recalled = "recalled"
    muted = "muted"
    unmuted = "unmuted"
    removed = "removed"
    offline = "offline"
    other = "other"


@dataclass(frozen=True, slots=True, kw_only=True)
class Notice:
    """A notice: `group_id` is None for one about the account itself (offline).

    `message_id` and `user_id` (whose message) belong to `recalled`; `duration_s` to `muted`, None
    when it has no end (the whole group is muted). A mute of somebody else is `other`.
    """

    kind: NoticeKind
    group_id: GroupId | None
    user_id: UserId | None
    at_ms: int
    message_id: MessageId | None = None
    duration_s: int | None = None


def group_of(frame: Frame) -> int | None:
    """The group that a frame belongs to, None when it names none. Looks at nothing else."""
    return positive_number(frame.get("group_id"))


def self_of(frame: Frame) -> int | None:
    """The account that NapCat says it is, None when the frame does not say."""
    return positive_number(frame.get("self_id"))


def is_group_event(frame: Frame) -> bool:
    """Whether it is a group's message, our own message in a group, or a notice.

    A private message can name a group too (a chat begun from its member list): that is none.
    """
    post_type = frame.get("post_type")
    if post_type in _MESSAGE_TYPES:
        return frame.get("message_type") == "group"
    return post_type == "notice"


def may_be_command(frame: Frame) -> bool:
    """A quick look whether a member's message may begin with a dot command; never raises.

    Wrong guesses cost nothing but the order in which messages are taken in.
    """
    raw = frame.get("raw_message")
    if not isinstance(raw, str) or frame.get("post_type") != "message":
        return False
    return _COMMAND_START.match(raw) is not None


def parse_message(
    raw: object, *, self_id: UserId, from_history: bool = False
) -> IncomingGroupMessage:
    """The message, cleaned but not protected; `raw` is a frame, or anything else from NapCat.

    Raises: ValueError when it is no group message for `self_id`; it names the field, not its value.
    """
    frame = _message_frame(raw)
    if self_of(frame) != self_id:
        raise ValueError("self_id is another account")
    user_id = required(positive_number(frame.get("user_id")), "user_id")
    sender = _sender_of(frame, user_id)
    return IncomingGroupMessage(
        group_id=GroupId(required(group_of(frame), "group_id")),
        message_id=MessageId(required(whole_number(frame.get("message_id")), "message_id")),
        real_seq=positive_number(frame.get("real_seq")),
        user_id=UserId(user_id),
        self_id=self_id,
        sent_at_ms=time_ms(frame.get("time")),
        display_name=_display_name(sender),
        segments=_segments_of(frame.get("message")),
        is_self=frame.get("post_type") == "message_sent" or user_id == self_id,
        from_history=from_history,
    )


def hash_message(message: IncomingGroupMessage) -> str:
    """The fingerprint of a message's text, equal to `hash_text` of the text that was sent."""
    return hash_text("".join(s.text for s in message.segments if s.kind is SegmentKind.text))


def parse_notice(raw: object) -> Notice:
    """The notice; `raw` is a frame, or anything else from NapCat.

    Raises: ValueError when it is no notice or lacks what its kind needs.
    """
    frame = _as_frame(raw)
    if frame.get("post_type") != "notice":
        raise ValueError("post_type is not notice")
    group_id = group_of(frame)
    user_id = positive_number(frame.get("user_id"))
    kind = _notice_kind(frame, user_id)
    recalled = kind is NoticeKind.recalled
    return Notice(
        kind=kind,
        group_id=None if group_id is None else GroupId(group_id),
        user_id=None if user_id is None else UserId(user_id),
        at_ms=time_ms(frame.get("time")),
        message_id=_recalled_id(frame) if recalled else None,
        duration_s=positive_number(frame.get("duration")) if kind is NoticeKind.muted else None,
    )


def _as_frame(raw: object) -> Frame:
    if not isinstance(raw, dict):
        raise ValueError("frame is no object")  # noqa: TRY004 - one error for every bad frame
    return raw


def _message_frame(raw: object) -> Frame:
    frame = _as_frame(raw)
    if frame.get("post_type") not in _MESSAGE_TYPES:
        raise ValueError("post_type is not message")
    if frame.get("message_type") != "group":
        raise ValueError("message_type is not group")
    return frame


def _sender_of(frame: Frame, user_id: int) -> Mapping[str, Any]:
    sender = frame.get("sender")
    if not isinstance(sender, dict):
        return {}
    if "user_id" in sender and whole_number(sender["user_id"]) != user_id:
        raise ValueError("sender.user_id differs from user_id")
    return sender


def _display_name(sender: Mapping[str, Any]) -> str:
    names = (one_line(text_of(sender.get(key)), _LONGEST_NAME) for key in ("card", "nickname"))
    return next((name for name in names if name), "")


def _segments_of(message: object) -> tuple[Segment, ...]:
    if isinstance(message, str):
        return tuple(read_segment(raw) for raw in split_codes(message))
    if isinstance(message, dict):
        return (read_segment(message),)
    if isinstance(message, list):
        return tuple(read_segment(raw) for raw in message)
    raise ValueError("message is neither text nor segments")


def _notice_kind(frame: Frame, user_id: int | None) -> NoticeKind:
    about_us = user_id is not None and user_id == self_of(frame)
    match frame.get("notice_type"), frame.get("sub_type"):
        case "group_recall", _:
            return NoticeKind.recalled
        case "group_ban", "ban" if about_us or _is_whole_group(frame):
            return NoticeKind.muted
        case "group_ban", "lift_ban" if about_us or _is_whole_group(frame):
            return NoticeKind.unmuted
        case "group_decrease", "kick_me" | "disband":
            return NoticeKind.removed
        case "group_decrease", _ if about_us:
            return NoticeKind.removed
        case "bot_offline", _:
            return NoticeKind.offline
        case _:
            return NoticeKind.other


def _is_whole_group(frame: Frame) -> bool:
    return whole_number(frame.get("user_id")) == 0


def _recalled_id(frame: Frame) -> MessageId:
    return MessageId(required(whole_number(frame.get("message_id")), "message_id"))
