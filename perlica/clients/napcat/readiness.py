"""Whether we may send: the account is the configured one, online, and a member of the group.

One checker thread for each connection asks NapCat; heartbeats and notices interrupt it.
"""

import logging
import threading
import time
from collections.abc import Callable
from typing import Final

from perlica.clients.napcat.connection import NapCatSocket
from perlica.clients.napcat.settings import NapCatSettings
from perlica.clients.onebot import Frame, fields_of, succeeded
from perlica.clients.onebot.fields import positive_number

_log = logging.getLogger(__name__)

READY: Final = "ready"
CATCHING_UP: Final = "catching_up"
_UNANSWERED_BEFORE_ABORT: Final = 2

OnState = Callable[[bool, str], object]
"""Called with whether we may send and why not, at each change, in any thread."""


class Readiness:
    """The state that everybody sees; a check that was overtaken by worse news does not count."""

    def __init__(self, on_state: OnState) -> None:
        """Begin not ready."""
        self._on_state = on_state
        self._lock = threading.Lock()
        self._is_ready = False
        self._reason = "starting"
        self._bad_news = 0

    @property
    def is_ready(self) -> bool:
        """Whether we may send."""
        with self._lock:
            return self._is_ready

    @property
    def reason(self) -> str:
        """`ready`, or why not."""
        with self._lock:
            return self._reason

    @property
    def bad_news(self) -> int:
        """A number that grows with every `spoil`; give it to `confirm`."""
        with self._lock:
            return self._bad_news

    def spoil(self, reason: str) -> None:
        """Not ready, from now on."""
        with self._lock:
            self._bad_news += 1
            has_changed = self._is_ready or self._reason != reason
            self._is_ready, self._reason = False, reason
            if has_changed:
                self._on_state(False, reason)  # noqa: FBT003 - the listener's own order

    def confirm(self, bad_news: int) -> bool:
        """Ready, unless there was bad news since the number was read; whether we are."""
        with self._lock:
            if bad_news != self._bad_news:
                return False
            if not self._is_ready:
                self._is_ready, self._reason = True, READY
                self._on_state(True, READY)  # noqa: FBT003
            return True


class Checker:
    """Asks until ready, then now and then; `poke` makes it ask at once."""

    def __init__(
        self,
        connection: NapCatSocket,
        settings: NapCatSettings,
        readiness: Readiness,
        on_sound: Callable[[], bool],
    ) -> None:
        """Prepare; `start` begins. `on_sound` runs in the checker's thread after each check that
        found no obstacle; until it says that the history is read, nothing may be sent.
        """
        self._connection = connection
        self._settings = settings
        self._readiness = readiness
        self._on_sound = on_sound
        self._poked = threading.Event()
        self._held_until_s = 0.0
        self._unanswered = 0
        self._thread = threading.Thread(target=self._run, name="perlica-napcat-check", daemon=True)

    def start(self) -> None:
        """Begin to ask."""
        self._thread.start()

    def join(self, within_s: float) -> None:
        """Wait for the end, which follows that of the connection."""
        self._poked.set()
        self._thread.join(within_s)

    def poke(self) -> None:
        """Ask now."""
        self._poked.set()

    def hold_off(self, for_s: float) -> None:
        """Believe no good news for a while: after `bot_offline` heartbeats lag behind."""
        self._held_until_s = time.monotonic() + for_s

    def _run(self) -> None:
        try:
            self._check_until_the_end()
        except Exception as error:  # noqa: BLE001 - nobody else would ever say "ready" again
            _log.warning("napcat check failed", extra={"fault": type(error).__name__})
            self._connection.abort("check_failed")

    def _check_until_the_end(self) -> None:
        while not self._connection.has_ended.is_set():
            self._check_once()
            settings = self._settings
            is_ready = self._readiness.is_ready
            self._poked.wait(settings.recheck_s if is_ready else settings.not_ready_retry_s)
            self._poked.clear()

    def _check_once(self) -> None:
        bad_news = self._readiness.bad_news
        left_s = self._held_until_s - time.monotonic()
        if left_s > 0:
            self._poked.wait(left_s)
            return
        reason = self._find_obstacle()
        if self._connection.has_ended.is_set():
            return
        if reason:
            self._readiness.spoil(reason)
        elif self._on_sound():
            self._readiness.confirm(bad_news)
        elif not self._connection.has_ended.is_set() and not self._readiness.is_ready:
            self._readiness.spoil(CATCHING_UP)

    def _find_obstacle(self) -> str:
        """Why we may not send, '' when we may."""
        if self._readiness.is_ready:
            return self._check_member() or self._check_status()
        return (
            self._check_account() or self._check_version() or self._check_member()
        ) or self._check_status()

    def _check_account(self) -> str:
        login = self._ask("get_login_info", {})
        if not succeeded(login):
            return "no_login_info"
        user_id = positive_number(fields_of(login).get("user_id"))
        return "" if user_id == self._settings.self_id else "wrong_account"

    def _check_version(self) -> str:
        return "" if succeeded(self._ask("get_version_info", {})) else "no_version_info"

    def _check_member(self) -> str:
        """Proof of membership: QQ itself is asked, and must speak of us in our group."""
        ids = {"group_id": str(self._settings.group_id), "user_id": str(self._settings.self_id)}
        answer = self._ask("get_group_member_info", {**ids, "no_cache": True})
        if answer is None:
            return "no_member_info"
        fields = fields_of(answer)
        is_ours = (
            positive_number(fields.get("group_id")) == self._settings.group_id
            and positive_number(fields.get("user_id")) == self._settings.self_id
        )
        return "" if succeeded(answer) and is_ours else "not_a_member"

    def _check_status(self) -> str:
        status = self._ask("get_status", {})
        if not succeeded(status):
            return "no_status"
        return "" if fields_of(status).get("online") is True else "offline"

    def _ask(self, action: str, params: Frame) -> Frame | None:
        response = self._connection.call(action, params, within_s=self._settings.call_within_s)
        self._unanswered = 0 if response is not None else self._unanswered + 1
        if self._unanswered >= _UNANSWERED_BEFORE_ABORT:
            # Answers to a status need nothing of QQ: a NapCat that gives none is stuck (S02).
            self._connection.abort("unresponsive")
        return response
