"""One group message as the invented QQ keeps it, and NapCat's rule for its public id.

The kernel makes messages, the history keeps them, events and answers are drawn from them.
"""

import hashlib
import secrets
from collections import OrderedDict
from dataclasses import dataclass, field

from perlica.demo.napcat.segments import Segment, encode_cq

GROUP_CHAT_TYPE = 2
REMEMBERED_IDS = 5000
"""NapCat forgets older ids (docs/facts/napcat.md)."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Message:
    """What was said: ids, order, time in seconds, and OneBot segments as NapCat would show them."""

    kernel_id: str
    message_id: int
    real_seq: int
    group_id: int
    user_id: int
    sent_at_s: int
    segments: tuple[Segment, ...] = field(repr=False)
    while_offline: bool = False

    @property
    def text(self) -> str:
        """The text segments joined, untrimmed."""
        return "".join(
            str(segment["data"].get("text", ""))
            for segment in self.segments
            if segment["type"] == "text"
        )

    @property
    def raw(self) -> str:
        """The message as trimmed CQ text (`raw_message`)."""
        return encode_cq(self.segments).strip()


def new_kernel_id(sent_at_s: int) -> str:
    """A fresh 19-digit id: seconds in the high half, chance in the low half."""
    return str((max(sent_at_s, 1) << 32) | secrets.randbits(32))


def public_id(kernel_id: str, group_id: int) -> int:
    """NapCat's 31-bit id: first four bytes of the MD5 of `id|chat type|peer`, top bit cleared."""
    key = f"{kernel_id}|{GROUP_CHAT_TYPE}|{group_id}"
    digest = hashlib.md5(key.encode(), usedforsecurity=False).digest()
    return int.from_bytes(digest[:4], "big") & 0x7FFF_FFFF


class KnownIds:
    """NapCat's table from public id to kernel id, with its two measured faults.

    It forgets beyond 5000 entries, and one collision inside the window empties it whole.
    """

    def __init__(self) -> None:
        """Start empty, as after a restart of NapCat."""
        self._kernel_ids: OrderedDict[int, str] = OrderedDict()

    def remember(self, message: Message) -> None:
        """Note the id; a different message under the same id clears everything."""
        known = self._kernel_ids.get(message.message_id)
        if known is not None and known != message.kernel_id:
            self._kernel_ids.clear()
            return
        self._kernel_ids[message.message_id] = message.kernel_id
        while len(self._kernel_ids) > REMEMBERED_IDS:
            self._kernel_ids.popitem(last=False)

    def find(self, message_id: int) -> str | None:
        """The kernel id that NapCat still knows for this public id."""
        return self._kernel_ids.get(message_id)

    def forget_all(self) -> None:
        """Become as empty as after a restart of NapCat."""
        self._kernel_ids.clear()
