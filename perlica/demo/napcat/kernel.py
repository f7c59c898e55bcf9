"""The invented QQ under the stand-in: who is in which group, what was said, who may speak.

Actions and the stand-in's `say()` go through here; what clients see of it is drawn in `events`.
"""

import time
from dataclasses import dataclass, replace
from pathlib import Path

from perlica.demo.napcat.account import Account, Group, Member
from perlica.demo.napcat.history import History
from perlica.demo.napcat.message import KnownIds, Message, new_kernel_id, public_id
from perlica.demo.napcat.segments import Segment

WHOLE_GROUP = 0
MUTED = 120
REMOVED = 110
OFFLINE = 1006514
MEDIA_FAILED = -1
REFUSAL_TEXTS = {
    MUTED: "发送失败，你已被群主或管理员禁言。",
    REMOVED: "发送失败，你已被移出该群，请重新加群。",
    OFFLINE: "网络连接异常",
    MEDIA_FAILED: "rich media transfer failed",
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Draft:
    """What somebody is about to say; None lets the kernel choose."""

    group_id: int
    user_id: int
    segments: tuple[Segment, ...]
    message_id: int | None = None
    sent_at_s: int | None = None


class Kernel:
    """State of the account; callers hold the stand-in's lock."""

    def __init__(self, account: Account, journal: Path | None) -> None:
        """Log in: history from the journal, ids empty, online, nowhere muted."""
        self.account = account
        self.history = History(journal)
        self.known_ids = KnownIds()
        self.online = True
        self.started_at_s = int(time.time())
        self._clock_behind_s = 0
        self.files: dict[str, bytes] = {}
        self.reactions: dict[str, list[str]] = {}
        self._muted: set[int] = set()
        self._removed: set[int] = set()

    @property
    def self_id(self) -> int:
        """The number the account is logged in as."""
        return self.account.user_id

    def put_clock_back(self, by_s: int) -> None:
        """QQ's clock, which dates all messages, is behind this machine's from now on."""
        self._clock_behind_s += by_s
        self.started_at_s -= by_s

    def post(self, draft: Draft) -> Message:
        """Put a message into the group; NapCat learns its id unless QQ is offline.

        Raises:
            KeyError: the account is in no such group.
        """
        group = self.account.group(draft.group_id)
        now_s = int(time.time()) - self._clock_behind_s
        sent_at_s = now_s if draft.sent_at_s is None else draft.sent_at_s
        kernel_id = new_kernel_id(sent_at_s)
        message_id = draft.message_id
        message = Message(
            kernel_id=kernel_id,
            message_id=public_id(kernel_id, group.group_id) if message_id is None else message_id,
            real_seq=self.history.next_seq(group.group_id),
            group_id=group.group_id,
            user_id=draft.user_id,
            sent_at_s=sent_at_s,
            segments=draft.segments,
            while_offline=not self.online,
        )
        self.history.append(message)
        return message

    def is_pushed(self, message: Message) -> bool:
        """Whether NapCat reports it: not without sender or time, not from before its start."""
        if not message.user_id or not message.sent_at_s or message.while_offline:
            return False
        return message.sent_at_s >= self.started_at_s

    def find(self, message_id: int) -> Message | None:
        """The message NapCat still knows under this public id."""
        kernel_id = self.known_ids.find(message_id)
        return None if kernel_id is None else self.history.find(kernel_id)

    def readable(self, group_id: int) -> tuple[Message, ...]:
        """What a history request can reach: nothing that was said while QQ was offline."""
        return tuple(m for m in self.history.of_group(group_id) if not m.while_offline)

    def member(self, group_id: int, user_id: int) -> Member | None:
        """The member as NapCat's cache has him, or None when the cache lacks him, as it does all
        of a group that the account has left.
        """
        if group_id in self._removed:
            return None
        group = next((g for g in self.account.groups if g.group_id == group_id), None)
        member = None if group is None else group.find(user_id)
        return member if member is not None and member.cached else None

    def knows_person(self, user_id: int) -> bool:
        """Whether any group has this number (an at of anybody else fails)."""
        return any(group.find(user_id) for group in self.account.groups)

    def recall(self, message: Message) -> None:
        """Take a message back."""
        self.history.recall(message)

    def react(self, message: Message, emoji_id: str, *, is_added: bool) -> None:
        """Put the account's emoticon on a message, or take it off."""
        reactions = self.reactions.setdefault(message.kernel_id, [])
        if is_added and emoji_id not in reactions:
            reactions.append(emoji_id)
        if not is_added and emoji_id in reactions:
            reactions.remove(emoji_id)

    def refusal(self, group_id: int) -> int | None:
        """QQ's result code when the account may not speak in the group now."""
        if group_id in self._removed or all(g.group_id != group_id for g in self.account.groups):
            return REMOVED
        if group_id in self._muted:
            return MUTED
        return None if self.online else OFFLINE

    def mute(self, group_id: int) -> None:
        """The account may not speak in the group until `unmute`."""
        self._muted.add(group_id)

    def unmute(self, group_id: int) -> None:
        """The account may speak again."""
        self._muted.discard(group_id)

    def remove(self, group_id: int) -> None:
        """The account is no longer in the group."""
        self._removed.add(group_id)

    def take_back(self, group_id: int) -> None:
        """The account is in the group again."""
        self._removed.discard(group_id)

    def rename(self, group_id: int, user_id: int, card: str) -> str:
        """Give a member another card; returns the old card, or the nickname when it was empty."""
        group = self.account.group(group_id)
        old = group.find(user_id)
        members = tuple(replace(m, card=card) if m.user_id == user_id else m for m in group.members)
        self._replace_group(replace(group, members=members))
        return "" if old is None else old.card or old.nickname

    def _replace_group(self, changed: Group) -> None:
        groups = tuple(
            changed if group.group_id == changed.group_id else group
            for group in self.account.groups
        )
        self.account = replace(self.account, groups=groups)
