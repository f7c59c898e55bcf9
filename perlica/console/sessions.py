"""Who is logged in: cookies that were given out, by digest, in memory only.

A restart logs everybody out. A session ends by logout, by its age, or because its viewer's token
was revoked or has expired: the database is asked at every request.
"""

import hashlib
import secrets
import threading
from collections import OrderedDict
from dataclasses import dataclass
from typing import Final

from perlica.domain.clock import now_ms
from perlica.stores.viewers import ViewerId

MAX_SESSIONS: Final = 1_000
MAX_SESSIONS_OF_ONE: Final = 10


@dataclass(frozen=True, slots=True, kw_only=True)
class _Session:
    viewer: ViewerId
    ends_at_ms: int


class SessionBook:
    """Open sessions, oldest first; the oldest go when there are too many."""

    def __init__(self, session_ms: int) -> None:
        """Sessions last `session_ms` from their login on."""
        self._session_ms = session_ms
        self._lock = threading.Lock()
        self._sessions: OrderedDict[str, _Session] = OrderedDict()

    def open(self, viewer: ViewerId) -> str:
        """Begin a session; its cookie, which is kept nowhere."""
        cookie = secrets.token_urlsafe(32)
        session = _Session(viewer=viewer, ends_at_ms=now_ms() + self._session_ms)
        with self._lock:
            self._drop_old(viewer)
            self._sessions[_digest(cookie)] = session
        return cookie

    def find(self, cookie: str) -> ViewerId | None:
        """Whose session it is; None when it has ended or never was."""
        with self._lock:
            session = self._sessions.get(_digest(cookie))
            if session is None or session.ends_at_ms <= now_ms():
                return None
            return session.viewer

    def close(self, cookie: str) -> None:
        """End a session; one that is gone already stays gone."""
        with self._lock:
            self._sessions.pop(_digest(cookie), None)

    def _drop_old(self, viewer: ViewerId) -> None:
        """Make room: what has ended, then the oldest of this viewer, then the oldest of all."""
        at_ms = now_ms()
        for key in [k for k, s in self._sessions.items() if s.ends_at_ms <= at_ms]:
            del self._sessions[key]
        own = [k for k, s in self._sessions.items() if s.viewer == viewer]
        for key in own[: max(0, len(own) - MAX_SESSIONS_OF_ONE + 1)]:
            del self._sessions[key]
        while len(self._sessions) >= MAX_SESSIONS:
            self._sessions.popitem(last=False)


def _digest(cookie: str) -> str:
    return hashlib.sha256(cookie.encode("utf-8", "replace")).hexdigest()
