"""Frames of our group on their way from the reader thread to intake, in memory only.

The link fills it, the protection actor drains it. It never drops silently: a full queue makes the
link reconnect and read what is missing from the group's history. What may be a command goes
in front, so that in a flood `.status` and `.cancel` wait for nobody.
"""

import marshal
import threading
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from typing import Final

from perlica.clients.onebot import Frame
from perlica.domain.clock import monotonic_s

_GIVE_UP_POLL_S: Final = 0.1

Ring = Callable[[], object]
GiveUp = Callable[[], bool]


def _never() -> bool:
    return False


@dataclass(frozen=True, slots=True, kw_only=True)
class InboundFrame:
    """One raw frame of our group, for `onebot.parse_message` or `parse_notice`."""

    frame: Frame = field(repr=False)
    from_history: bool = False
    size_bytes: int = 0


@dataclass(slots=True)
class DropCounts:
    """How many frames were dropped, and why; numbers only, and their names are for the log and
    `/metrics`.
    """

    other_groups: int = 0
    other_accounts: int = 0
    other_kinds: int = 0
    malformed: int = 0
    too_large: int = 0


@dataclass(frozen=True, slots=True)
class _Packed:
    """A waiting frame: as bytes it takes a fifth of the memory."""

    content: bytes = field(repr=False)
    from_history: bool
    size_bytes: int

    def unpack(self) -> InboundFrame:
        frame = marshal.loads(self.content)  # noqa: S302 - our own bytes, never left the process
        return InboundFrame(frame=frame, from_history=self.from_history, size_bytes=self.size_bytes)


class InboundQueue:
    """Bounded by frames and by bytes; any thread may call. `dropped` counts what never came in."""

    def __init__(self, *, most_frames: int = 32_768, most_bytes: int = 64 * 1024 * 1024) -> None:
        """Start empty."""
        self._most_frames = most_frames
        self._most_bytes = most_bytes
        self._changed = threading.Condition()
        self._urgent: deque[_Packed] = deque()
        self._frames: deque[_Packed] = deque()
        self._held_bytes = 0
        self._put_count = 0
        self._taken_count = 0
        self._settled_count = 0
        self._has_rung = False
        self.dropped = DropCounts()

    def put(
        self,
        item: InboundFrame,
        ring: Ring,
        *,
        is_urgent: bool = False,
        within_s: float = 0.0,
        give_up: GiveUp = _never,
    ) -> bool:
        """Add a frame, False when it does not fit in time; rings once for each `drain`.

        Urgent ones are drained first. While this waits, nobody reads from the socket and TCP holds
        NapCat back.

        Raises: ValueError for a frame that is nested too deeply to be kept.
        """
        packed = _pack(item)
        deadline_s = monotonic_s() + within_s
        with self._changed:
            while not self._fits(item):
                if give_up() or monotonic_s() >= deadline_s:
                    return False
                self._changed.wait(_GIVE_UP_POLL_S)
            self._add(packed, is_urgent=is_urgent)
            must_ring, self._has_rung = not self._has_rung, True
        if must_ring:
            ring()
        return True

    def put_history(self, items: Sequence[InboundFrame], ring: Ring, give_up: GiveUp) -> int | None:
        """Add frames of the history, never filling more than half of the room.

        A frame that is nested too deeply is left out. Returns the mark to give to `is_settled`,
        None when `give_up` said so first.
        """
        packed = deque(_packed_of(items))
        while packed:
            with self._changed:
                while not self._is_half_empty() and not give_up():
                    self._changed.wait(_GIVE_UP_POLL_S)
                if give_up():
                    return None
                # As many as fit in one go: who drains meanwhile must not take a part for all.
                while packed and self._is_half_empty():
                    self._add(packed.popleft(), is_urgent=False)
                must_ring, self._has_rung = not self._has_rung, True
            if must_ring:
                ring()
        return self.mark()

    def mark(self) -> int:
        """The mark for `is_settled` of all that was put so far, but for urgent frames."""
        with self._changed:
            return self._put_count

    def drain(self, most: int) -> list[InboundFrame]:
        """Take up to `most` frames, the urgent ones first, each kind in order.

        Calling again says that what the call before gave is stored: drain until it is empty.
        """
        with self._changed:
            self._has_rung = False
            self._settled_count = self._taken_count
            urgent = _take(self._urgent, most)
            others = _take(self._frames, most - len(urgent))
            self._held_bytes -= sum(item.size_bytes for item in (*urgent, *others))
            self._taken_count += len(others)
            self._changed.notify_all()
        return [item.unpack() for item in (*urgent, *others)]

    def is_settled(self, mark: int, within_s: float, give_up: GiveUp) -> bool:
        """Whether all frames up to `mark` were taken and stored; waits at most `within_s`."""
        deadline_s = monotonic_s() + within_s
        with self._changed:
            while self._settled_count < mark and monotonic_s() < deadline_s and not give_up():
                self._changed.wait(_GIVE_UP_POLL_S)
            return self._settled_count >= mark

    def wait_for_room(self, within_s: float) -> bool:
        """Whether at least half of the room is free; waits at most `within_s`."""
        with self._changed:
            return self._changed.wait_for(self._is_half_empty, within_s)

    @property
    def has_others_waiting(self) -> bool:
        """Whether an urgent frame that is put now would overtake another."""
        with self._changed:
            return bool(self._frames)

    @property
    def waiting_frames(self) -> int:
        """How many frames wait."""
        with self._changed:
            return self._waiting()

    def _add(self, packed: _Packed, *, is_urgent: bool) -> None:
        self._held_bytes += packed.size_bytes
        if is_urgent:
            self._urgent.append(packed)
        else:
            # Only these are counted: urgent ones overtake, so they say nothing about the others.
            self._frames.append(packed)
            self._put_count += 1

    def _waiting(self) -> int:
        return len(self._urgent) + len(self._frames)

    def _fits(self, item: InboundFrame) -> bool:
        waiting = self._waiting()
        has_room = self._held_bytes + item.size_bytes <= self._most_bytes or not waiting
        return waiting < self._most_frames and has_room

    def _is_half_empty(self) -> bool:
        return 2 * self._waiting() <= self._most_frames and (
            2 * self._held_bytes <= self._most_bytes
        )


def _pack(item: InboundFrame) -> _Packed:
    return _Packed(marshal.dumps(dict(item.frame)), item.from_history, item.size_bytes)


def _packed_of(items: Iterable[InboundFrame]) -> Iterator[_Packed]:
    for item in items:
        with suppress(ValueError):
            yield _pack(item)


def _take(waiting: deque[_Packed], most: int) -> list[_Packed]:
    return [waiting.popleft() for _ in range(min(most, len(waiting)))]
