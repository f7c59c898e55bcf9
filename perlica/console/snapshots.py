"""Pages kept for a moment, so that fifty open ones cost what one costs.

A page is made once for everybody who asks for the same address within its age; the others wait for
that one. What is kept is the same for every viewer: there is only one role.
"""

import hashlib
import threading
from collections import OrderedDict
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Final

from perlica.domain.clock import monotonic_s

MAX_KEPT: Final = 64


@dataclass(frozen=True, slots=True, kw_only=True)
class Snapshot:
    """A rendered page without what is around it; `age_s` is how long it may be shown."""

    title: str
    news: str
    navigation: str = field(repr=False)
    content: str = field(repr=False)
    status: int = 200
    age_s: float
    tag: str = field(init=False)
    """A strong ETag of what is inside."""

    def __post_init__(self) -> None:
        """Name the content once; every open page asks for the name."""
        inside = f"{self.navigation}\0{self.content}".encode("utf-8", "replace")
        object.__setattr__(self, "tag", f'"{hashlib.sha256(inside).hexdigest()[:32]}"')


@dataclass(slots=True)
class _Place:
    """Where one address's page lies; the lock lets one thread make it."""

    lock: threading.Lock = field(default_factory=threading.Lock)
    snapshot: Snapshot | None = None
    until_s: float = 0.0


class Snapshots:
    """The newest `MAX_KEPT` pages."""

    def __init__(self) -> None:
        """Keep nothing yet."""
        self._lock = threading.Lock()
        self._places: OrderedDict[str, _Place] = OrderedDict()

    def take(self, key: str, make: Callable[[], Snapshot]) -> Snapshot:
        """The kept page of that key, made anew when it is too old. Raises what `make` raises."""
        place = self._place(key)
        with place.lock:
            if place.snapshot is None or monotonic_s() >= place.until_s:
                place.snapshot = make()
                place.until_s = monotonic_s() + place.snapshot.age_s
            return place.snapshot

    def _place(self, key: str) -> _Place:
        with self._lock:
            self._drop_old()
            place = self._places.setdefault(key, _Place())
            self._places.move_to_end(key)
            while len(self._places) > MAX_KEPT:
                self._places.popitem(last=False)
            return place

    def _drop_old(self) -> None:
        """Let go of pages that may not be shown any more, but of none that is just being made."""
        now_s = monotonic_s()
        for key, place in list(self._places.items()):
            is_over = place.snapshot is not None and now_s >= place.until_s
            if is_over and not place.lock.locked():
                del self._places[key]
