"""Messages, members and the connection as the chat page shows them: plain JSON values.

Drawn at the moment of reading, so the page always gets the current state of a message.
"""

from typing import Any

from perlica.demo.napcat.account import Group
from perlica.demo.napcat.message import Message
from perlica.demo.napcat.segments import Segment
from perlica.demo.napcat.server import NapCatServer

SHOWN_MESSAGES = 200
SHOWN_QUOTE_CHARS = 80
FIRST_UNICODE_EMOJI = 5000
"""QQ's emoji ids above this are code points; those below are its own pictures."""
_FACES = {"66": "❤", "76": "👍", "124": "👌", "201": "👍"}
"""The nearest characters for some of those pictures; 76 is what Perlica marks a taken task with."""

Drawn = dict[str, Any]


def draw_state(napcat: NapCatServer) -> Drawn:
    """Everything a page needs at its start; `cursor` is where its feed begins."""
    cursor = napcat.feed.last
    account = napcat.kernel.account
    return {
        "cursor": cursor,
        "self_id": account.user_id,
        "groups": [draw_group(napcat, group) for group in account.groups],
        "connection": draw_connection(napcat),
    }


def draw_connection(napcat: NapCatServer) -> Drawn:
    """Whether a bot is connected and QQ online."""
    return {
        "is_connected": any(peer.takes_events for peer in napcat.connections),
        "is_online": napcat.kernel.online,
    }


def draw_group(napcat: NapCatServer, group: Group) -> Drawn:
    """A group with its members and latest messages."""
    messages = napcat.kernel.history.of_group(group.group_id)[-SHOWN_MESSAGES:]
    return {
        "group_id": group.group_id,
        "name": group.name,
        "members": [
            {
                "user_id": member.user_id,
                "name": member.card or member.nickname,
                "nickname": member.nickname,
                "standing": member.standing,
            }
            for member in group.members
        ],
        "messages": [draw_message(napcat, message) for message in messages],
    }


def draw_message(napcat: NapCatServer, message: Message) -> Drawn:
    """One message; a recalled one comes without its parts."""
    is_recalled = napcat.kernel.history.is_recalled(message)
    group = napcat.kernel.account.group(message.group_id)
    parts = [] if is_recalled else message.segments
    reactions = napcat.kernel.reactions.get(message.kernel_id, [])
    return {
        "id": message.kernel_id,
        "seq": message.real_seq,
        "group_id": message.group_id,
        "user_id": message.user_id,
        "name": name_in(group, message.user_id),
        "sent_at_s": message.sent_at_s,
        "is_recalled": is_recalled,
        "quote": _quote(napcat, message),
        "parts": [_part(group, part) for part in parts if part["type"] != "reply"],
        "reactions": [_reaction(emoji_id) for emoji_id in reactions],
    }


def name_in(group: Group, user_id: int | str) -> str:
    """How the group sees a number."""
    member = group.find(int(user_id)) if str(user_id).isdecimal() else None
    return str(user_id) if member is None else member.card or member.nickname


def _part(group: Group, segment: Segment) -> Drawn:
    fields = segment["data"]
    match segment["type"]:
        case "text":
            content = str(fields["text"]).encode("utf-8", "replace").decode()
            return {"kind": "text", "text": content}
        case "at" if fields["qq"] == "all":
            return {"kind": "mention", "user_id": 0, "text": "@全体成员"}
        case "at":
            name = name_in(group, fields["qq"])
            return {"kind": "mention", "user_id": int(fields["qq"]), "text": f"@{name}"}
        case kind:
            return {"kind": "other", "text": f"[{kind}] {fields.get('file', '')}".strip()}


def _quote(napcat: NapCatServer, message: Message) -> Drawn | None:
    wanted = next((s["data"]["id"] for s in message.segments if s["type"] == "reply"), None)
    if wanted is None:
        return None
    for candidate in reversed(napcat.kernel.history.of_group(message.group_id)):
        if str(candidate.message_id) == wanted and candidate.real_seq < message.real_seq:
            group = napcat.kernel.account.group(message.group_id)
            quoted = "".join(
                _part(group, s)["text"] for s in candidate.segments if s["type"] != "reply"
            )
            return {
                "id": candidate.kernel_id,
                "name": name_in(group, candidate.user_id),
                "text": quoted[:SHOWN_QUOTE_CHARS],
            }
    return None


def _reaction(emoji_id: str) -> str:
    if emoji_id in _FACES:
        return _FACES[emoji_id]
    number = int(emoji_id) if emoji_id.isdecimal() else 0
    return chr(number) if number > FIRST_UNICODE_EMOJI else f"[{emoji_id}]"
