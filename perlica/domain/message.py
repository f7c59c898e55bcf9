"""A group message as the service speaks of it, free of OneBot's types.

`perlica.clients.onebot` makes these from frames; `actors.protection.actor` protects and stores
them.
"""

import re
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Final

from perlica.domain.ids import GroupId, MessageId, UserId
from perlica.domain.texts.visible import without_invisible


class SegmentKind(StrEnum):
    """What a segment is to Perlica; everything that is not listed becomes `other`."""

    text = "text"
    at = "at"
    at_all = "at_all"
    reply = "reply"
    image = "image"
    file = "file"
    audio = "audio"
    video = "video"
    face = "face"
    card = "card"
    forward = "forward"
    other = "other"


_MATERIAL: Final = frozenset(
    {
        SegmentKind.image,
        SegmentKind.file,
        SegmentKind.audio,
        SegmentKind.video,
        SegmentKind.card,
        SegmentKind.forward,
    }
)
_LABEL: Final = re.compile(r"\[[^\]]*\]")


@dataclass(frozen=True, slots=True, kw_only=True)
class Segment:
    """One piece of a message in its order.

    `text` is the cleaned text of a text segment or the placeholder of another (such as `[图片]`);
    `target` is the mentioned QQ number of an `at`, or the quoted message id of a `reply`;
    `name` and `size_bytes` are metadata of a file or image, `handle` is NapCat's file id.
    """

    kind: SegmentKind
    text: str = field(default="", repr=False)
    target: int | None = None
    name: str = field(default="", repr=False)
    size_bytes: int | None = None
    handle: str = field(default="", repr=False)

    @property
    def asks(self) -> bool:
        """Whether it can be what somebody wants done, or what it is to be done with.

        A mention, a face, a dice and whatever is only named, such as `[位置]`, cannot.
        """
        if self.kind is SegmentKind.text:
            return bool(without_invisible(self.text).strip())
        if self.kind is SegmentKind.other:
            return _LABEL.fullmatch(self.text) is None
        return self.kind in _MATERIAL


@dataclass(frozen=True, slots=True, kw_only=True)
class IncomingGroupMessage:
    """A message of the target group, cleaned but not protected yet: never stored or logged.

    `real_seq` is QQ's sequence in the group (None where NapCat gave none); `sent_at_ms` is UTC.
    """

    group_id: GroupId
    message_id: MessageId
    real_seq: int | None
    user_id: UserId
    self_id: UserId
    sent_at_ms: int
    display_name: str = field(repr=False)
    segments: tuple[Segment, ...] = field(repr=False)
    is_self: bool = False
    from_history: bool = False

    @property
    def mentions_us(self) -> bool:
        """Whether a top-level `at` names our own account (A8: never `@all`, text or a reply)."""
        return any(s.kind is SegmentKind.at and s.target == self.self_id for s in self.segments)

    @property
    def quoted_id(self) -> MessageId | None:
        """The id of the quoted message, if the message quotes one."""
        for segment in self.segments:
            if segment.kind is SegmentKind.reply and segment.target is not None:
                return MessageId(segment.target)
        return None

    @property
    def asks_for_nothing(self) -> bool:
        """Whether there is nothing to do in it and nothing is quoted."""
        return self.quoted_id is None and not any(segment.asks for segment in self.segments)

    @property
    def plain_text(self) -> str:
        """All segments as text in their order, mentions and placeholders included."""
        return "".join(segment.text for segment in self.segments)

    @property
    def command_line(self) -> str | None:
        """The message's first line when it begins with a dot.

        Before the dot stand blanks and our own mention at most. Quotes, forwards, cards and later
        lines never count.
        """
        opening = ""
        for segment in self.segments:
            if segment.kind is SegmentKind.at and segment.target == self.self_id:
                continue
            if segment.kind is not SegmentKind.text:
                return None
            opening += segment.text
            if opening.strip():
                break
        line = next(iter(opening.splitlines()), "").strip()
        return line if line.startswith(".") else None
