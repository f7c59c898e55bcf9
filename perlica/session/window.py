"""The task's window: which group messages the model is given, and why no others.

Pure; the loop reads candidates from `MessageStore` and stores the facts in `tasks.window_facts`.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import Final

from perlica.domain.errors import Refused
from perlica.domain.plan import JsonValue
from perlica.protection import SMALLEST_PART, Protected, truncate
from perlica.stores.messages import StoredMessage


@dataclass(frozen=True, slots=True, kw_only=True)
class WindowLimits:
    """All three hold together, the trigger included; code points count message texts."""

    age_ms: int = 900_000
    messages: int = 30
    code_points: int = 24_000


class Part(StrEnum):
    """Why a message is in the window."""

    trigger = "trigger"
    quoted = "quoted"
    context = "context"


class CutBy(StrEnum):
    """The limit that ended the window."""

    nothing = "nothing"
    age = "age"
    messages = "messages"
    code_points = "code_points"


class QuotedFate(StrEnum):
    """What became of the message that the trigger quotes."""

    none = "none"
    whole = "whole"
    truncated = "truncated"
    no_room = "no_room"
    not_found = "not_found"


@dataclass(frozen=True, slots=True, kw_only=True)
class WindowEntry:
    """A message of the window; `content` is shorter than the message's own only if it was
    truncated.
    """

    message: StoredMessage
    content: Protected
    part: Part


@dataclass(frozen=True, slots=True, kw_only=True)
class WindowFacts:
    """How the window was cut, without content."""

    messages: int
    code_points: int
    cut_by: CutBy
    left_out: int
    quoted: QuotedFate

    def as_json(self) -> dict[str, JsonValue]:
        """The value of `tasks.window_facts`."""
        return {
            "messages": self.messages,
            "code_points": self.code_points,
            "cut_by": self.cut_by.value,
            "left_out": self.left_out,
            "quoted": self.quoted.value,
        }


@dataclass(frozen=True, slots=True, kw_only=True)
class Window:
    """Messages in the order of time, and how they were chosen."""

    entries: tuple[WindowEntry, ...]
    facts: WindowFacts


DEFAULT_LIMITS: Final = WindowLimits()


def pick_window(
    trigger: StoredMessage,
    candidates: Iterable[StoredMessage],
    quoted: StoredMessage | None,
    limits: WindowLimits = DEFAULT_LIMITS,
) -> Window:
    """The window of a trigger: the trigger, then what it quotes, then newest to oldest.

    `candidates` are newest first and not newer than the trigger; more of them than fit tell which
    limit ended the window. A message that does not fit whole ends it; the quoted one, which may be
    older than the window, is truncated instead. Nothing is ever cut inside a placeholder.

    Raises: Refused (`trigger_too_large`) when the trigger alone is longer than the window.
    """
    size = len(trigger.content.content)
    if size > limits.code_points:
        raise Refused("trigger_too_large", f"the trigger has {size} code points")
    room = limits.code_points - size
    chosen = [WindowEntry(message=trigger, content=trigger.content, part=Part.trigger)]
    fate = QuotedFate.not_found if trigger.quoted_message_id is not None else QuotedFate.none
    if quoted is not None and quoted.row != trigger.row:
        entry, fate = _fit_quoted(quoted, room, has_place=limits.messages > 1)
        if entry is not None:
            chosen.append(entry)
            room -= len(entry.content.content)
    taken = {entry.message.row for entry in chosen}
    others = [c for c in candidates if c.row not in taken and c.recalled_at_ms is None]
    context, cut_by = _fit_context(
        others,
        after_ms=trigger.sent_at_ms - limits.age_ms,
        room=room,
        places=limits.messages - len(chosen),
    )
    entries = _in_order_of_time([*chosen, *context])
    return Window(
        entries=entries,
        facts=WindowFacts(
            messages=len(entries),
            code_points=sum(len(entry.content.content) for entry in entries),
            cut_by=cut_by,
            left_out=len(others) - len(context),
            quoted=fate,
        ),
    )


def _fit_quoted(
    quoted: StoredMessage, room: int, *, has_place: bool
) -> tuple[WindowEntry | None, QuotedFate]:
    if quoted.recalled_at_ms is not None:
        return None, QuotedFate.not_found
    if not has_place:
        return None, QuotedFate.no_room
    content, fate = quoted.content, QuotedFate.whole
    if len(content.content) > room:
        if room < SMALLEST_PART:
            return None, QuotedFate.no_room
        content, fate = truncate(content, room, keep="both"), QuotedFate.truncated
    return WindowEntry(message=quoted, content=content, part=Part.quoted), fate


def _fit_context(
    others: Sequence[StoredMessage], *, after_ms: int, room: int, places: int
) -> tuple[list[WindowEntry], CutBy]:
    """Candidates that fit, newest first, and the limit that the next one would have broken."""
    context: list[WindowEntry] = []
    for message in others:
        size = len(message.content.content)
        if message.sent_at_ms < after_ms:
            return context, CutBy.age
        if len(context) >= places:
            return context, CutBy.messages
        if size > room:
            return context, CutBy.code_points
        room -= size
        context.append(WindowEntry(message=message, content=message.content, part=Part.context))
    return context, CutBy.nothing


def _in_order_of_time(entries: Sequence[WindowEntry]) -> tuple[WindowEntry, ...]:
    """Oldest first. Context keeps its order; the trigger is last, the quoted one stands at its
    time.
    """
    trigger = [entry for entry in entries if entry.part is Part.trigger]
    quoted = [entry for entry in entries if entry.part is Part.quoted]
    ordered = [entry for entry in reversed(entries) if entry.part is Part.context]
    for entry in quoted:
        at = sum(other.message.sent_at_ms <= entry.message.sent_at_ms for other in ordered)
        ordered.insert(at, entry)
    return (*ordered, *trigger)
