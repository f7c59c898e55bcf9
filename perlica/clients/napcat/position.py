"""Where intake stands in the group's sequence of messages, and what is known to be missing.

The link asks before each connection and reports after it; the service keeps it in its database.
"""

import threading
from dataclasses import dataclass
from typing import Protocol


@dataclass(frozen=True, slots=True, kw_only=True)
class Gap:
    """Messages between two sequence numbers (both exclusive) that could not be read back.

    `before_seq` is None when nothing newer was read either. `reason` is beyond_count | beyond_age |
    history_ended | unreadable | no_sequence | went_back (all numbers are far below `after_seq`), or
    not_in_history: numbers that QQ's history skips, which recalled messages and messages sent while
    the account was offline do.
    """

    after_seq: int
    before_seq: int | None
    reason: str


class IntakePosition(Protocol):
    """Called from the link's own threads: an implementation opens its own connection."""

    def known_seq(self) -> int | None:
        """The `real_seq` up to which nothing is known to be missing; None on an empty database.

        While a `hold` is in place that is the held number, also after a crash, although newer
        messages are stored.
        """
        ...

    def hold(self, seq: int) -> None:
        """What follows `seq` may be incomplete until `release`: a connection opens, or a flood."""
        ...

    def release(self) -> None:
        """Everything that could be read back is stored."""
        ...

    def report_gap(self, gap: Gap) -> None:
        """To be audited; never guessed away."""
        ...


class HeldPosition:
    """The hold as the link's threads share it: news of a loss cannot be overtaken by a release."""

    def __init__(self, position: IntakePosition) -> None:
        """Keep where the position is stored."""
        self._position = position
        self._lock = threading.Lock()
        self._losses = 0
        self._holds = 0
        self._is_held = False

    def lose(self) -> None:
        """From now on messages may be missing."""
        with self._lock:
            self._losses += 1
            self._hold()

    def overtake(self) -> bool:
        """A message goes in before others that wait: once it is stored, its number says nothing of
        theirs, and a crash would lose them. Whether this began a hold.
        """
        with self._lock:
            if self._is_held:
                self._holds += 1
                return False
            self._hold()
            return self._is_held

    @property
    def counts(self) -> tuple[int, int]:
        """How often there was a loss, and how often a hold for whatever reason.

        Read it before a catch-up, and give the second to `release` after it.
        """
        with self._lock:
            return self._losses, self._holds

    def known_seq(self) -> int | None:
        """As `IntakePosition.known_seq`."""
        return self._position.known_seq()

    def release(self, holds: int) -> bool:
        """All is stored that was missing or waiting then; False when there was a hold since."""
        with self._lock:
            if holds != self._holds:
                return False
            self._position.release()
            self._is_held = False
            return True

    def report_gap(self, gap: Gap) -> None:
        """As `IntakePosition.report_gap`."""
        self._position.report_gap(gap)

    def _hold(self) -> None:
        self._holds += 1
        known_seq = self._position.known_seq()
        if known_seq is not None:
            self._position.hold(known_seq)
            self._is_held = True
