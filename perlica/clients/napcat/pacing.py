"""When the group may be written to: a pace that does not look like a robot, and pauses.

Flooding, above all into a group where the account is muted, puts the account itself at risk.
"""

from collections import deque

_MINUTE_S = 60.0


class Pace:
    """At least `between_s` seconds between two sends and at most `per_minute` in any minute."""

    def __init__(self, between_s: float, per_minute: int) -> None:
        """Start with nothing sent."""
        self._between_s = between_s
        self._per_minute = per_minute
        self._sent_s: deque[float] = deque(maxlen=per_minute)

    def wait_s(self, at_s: float) -> float:
        """How long the next send has to wait at that monotonic time; 0 when it may go."""
        if not self._sent_s:
            return 0.0
        earliest_s = self._sent_s[-1] + self._between_s
        if len(self._sent_s) == self._per_minute:
            earliest_s = max(earliest_s, self._sent_s[0] + _MINUTE_S)
        return max(0.0, earliest_s - at_s)

    def note(self, at_s: float) -> None:
        """A send went out at that monotonic time."""
        self._sent_s.append(at_s)


class Holds:
    """Reasons not to send for now, each until a time on the monotonic clock."""

    def __init__(self) -> None:
        """Start with none."""
        self._until_s: dict[str, float] = {}

    def add(self, reason: str, until_s: float) -> None:
        """Do not send before `until_s` for this reason; a later word about it replaces it."""
        self._until_s[reason] = until_s

    def lift(self, *reasons: str) -> None:
        """These reasons are gone."""
        for reason in reasons:
            self._until_s.pop(reason, None)

    def active(self, at_s: float) -> tuple[str, ...]:
        """The reasons that hold at that time; those that have run out are forgotten."""
        self._until_s = {r: until for r, until in self._until_s.items() if until > at_s}
        return tuple(self._until_s)
