"""Reading back what was said while we were away, page by page from the newest.

The link runs it after each connection became ready and puts the frames into the inbound queue.
"""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from itertools import islice
from typing import Any, Final

from perlica.clients.napcat.position import Gap
from perlica.clients.napcat.settings import NapCatSettings
from perlica.clients.onebot import Frame, group_of, is_group_event, messages_of, self_of
from perlica.clients.onebot.fields import positive_number, time_ms, whole_number
from perlica.domain.clock import now_ms
from perlica.domain.ids import GroupId

HISTORY: Final = "get_group_msg_history"
_MOST_REPORTED_GAPS: Final = 20
_SMALLEST_FURTHER: Final = 2
"""A page begins with the message that it is asked from: one message would never lead further."""

Call = Callable[[str, Frame], Frame | None]
"""Calls an action with parameters; None when there was no answer."""
_Key = tuple[int | None, int | None]


@dataclass(frozen=True, slots=True, kw_only=True)
class CatchUp:
    """Frames in the order of the group, and what is missing between them.

    `is_complete` is False when the history could not be read and is worth another try.
    """

    frames: tuple[Frame, ...]
    gaps: tuple[Gap, ...]
    is_complete: bool


def history_params(group_id: GroupId, count: int, *, before_id: int | None = None) -> Frame:
    """Parameters for the newest `count` messages, or for those up to a message, in a quick form."""
    params: dict[str, Any] = {
        "group_id": str(group_id),
        "count": count,
        "disable_get_url": True,
        "quick_reply": True,
        "parse_mult_msg": False,
    }
    if before_id is not None:
        # NapCat renamed the switch; each version ignores the other's name.
        params |= {"message_seq": str(before_id), "reverse_order": True, "reverseOrder": True}
    return params


def read_missed(
    call: Call, settings: NapCatSettings, known_seq: int | None, *, page_messages: int
) -> CatchUp:
    """What the history holds after `known_seq` (and a little before it), within the bounds.

    Without a `known_seq` it is one page: a first start does not read the group's past.
    """
    reader = _Reader(call, settings, known_seq, page_messages)
    reader.read()
    return reader.outcome()


class _Reader:
    def __init__(
        self, call: Call, settings: NapCatSettings, known_seq: int | None, page_messages: int
    ) -> None:
        self._call = call
        self._page_messages = page_messages
        self._settings = settings
        self._known_seq = known_seq
        self._found: dict[_Key, Frame] = {}
        self._stopped_by = ""
        self._oldest_id: int | None = None
        self._went_back = False

    def read(self) -> None:
        while not self._stopped_by:
            self._stopped_by = self._read_page()

    def outcome(self) -> CatchUp:
        frames = sorted(self._found.values(), key=_order)
        overlap = self._settings.catch_up.overlap_messages
        floor = None if self._known_seq is None else self._known_seq - overlap
        if self._went_back:
            floor = None
        wanted = [f for f in frames if floor is None or (_seq(f) or floor + 1) > floor]
        young = [f for f in wanted if _age_s(f) <= self._settings.catch_up.max_age_s]
        return CatchUp(
            frames=tuple(young),
            gaps=tuple(islice(self._gaps(young), _MOST_REPORTED_GAPS)),
            is_complete=self._stopped_by != "unreadable" or self._known_seq is None,
        )

    def _read_page(self) -> str:
        count = self._page_messages
        if self._oldest_id is not None:
            count = max(_SMALLEST_FURTHER, count)
        params = history_params(self._settings.group_id, count, before_id=self._oldest_id)
        page = messages_of(self._call(HISTORY, params))
        if page is None:
            return "unreadable"
        new = {_key(frame): frame for frame in page if self._is_ours(frame)}
        if not new.keys() - self._found.keys():
            return "history_ended"
        self._found |= new
        return self._reason_to_stop()

    def _reason_to_stop(self) -> str:
        oldest = min(self._found.values(), key=_order)
        bounds = self._settings.catch_up
        seq = _seq(oldest)
        self._oldest_id = whole_number(oldest.get("message_id"))
        if self._known_seq is None:
            return "first_start"
        if seq is None or self._oldest_id is None:
            return "no_sequence"
        if self._is_behind():
            self._went_back = True
            return "went_back"
        if seq <= self._known_seq - bounds.overlap_messages:
            return "reached"
        if len(self._found) >= bounds.max_messages:
            return "beyond_count"
        return "beyond_age" if _age_s(oldest) > bounds.max_age_s else ""

    def _is_behind(self) -> bool:
        """Whether even the newest message stands long before the last known one: numbers that a
        peer made up must not make us deaf to all that comes after them.
        """
        newest = max((_seq(frame) or 0) for frame in self._found.values())
        return newest < (self._known_seq or 0) - self._settings.catch_up.overlap_messages

    def _is_ours(self, frame: Frame) -> bool:
        settings = self._settings
        is_target = group_of(frame) == settings.group_id and self_of(frame) == settings.self_id
        return is_target and is_group_event(frame)

    def _gaps(self, frames: Sequence[Frame]) -> Iterator[Gap]:
        if self._known_seq is None:
            return
        if self._went_back:
            yield Gap(after_seq=self._known_seq, before_seq=None, reason=self._stopped_by)
            return
        numbers = sorted({seq for frame in frames if (seq := _seq(frame)) is not None})
        newer = [seq for seq in numbers if seq > self._known_seq]
        reached = any(seq <= self._known_seq for seq in numbers)
        if self._stopped_by == "unreadable" and not newer:
            yield Gap(after_seq=self._known_seq, before_seq=None, reason="unreadable")
        before = self._known_seq
        for place, seq in enumerate(newer):
            if seq > before + 1:
                is_end = place == 0 and not reached
                reason = self._stopped_by if is_end else "not_in_history"
                yield Gap(after_seq=before, before_seq=seq, reason=reason)
            before = seq


def _seq(frame: Frame) -> int | None:
    return positive_number(frame.get("real_seq"))


def _key(frame: Frame) -> _Key:
    return whole_number(frame.get("message_id")), _seq(frame)


def _order(frame: Frame) -> tuple[int, int]:
    return _seq(frame) or 0, whole_number(frame.get("time")) or 0


def _age_s(frame: Frame) -> float:
    try:
        return (now_ms() - time_ms(frame.get("time"))) / 1000
    except ValueError:
        return 0.0
