"""Outbox: sends what stands in `outbox_messages`, one at a time, and never twice without looking.

Everybody enqueues rows in his own transaction and rings; the connection answers each Send. A send
whose end is unknown is looked into (`actors.doubt`) before anything else goes out. Tasks are never
touched.
"""

import logging
import threading
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final

from actors.base import Alarm, PerlicaActor
from actors.doubt import Doubts, DoubtSettings
from actors.messages import (
    ConnectionChanged,
    GroupNotice,
    Look,
    OutboxRung,
    Seen,
    SelfMessageSeen,
    Send,
    SendAnswered,
    Tick,
)
from perlica.clients.napcat import Holds, Pace
from perlica.domain.ids import GroupId, MessageId, OutboxId, TaskId, TicketId, UserId
from perlica.stores.database import Database
from perlica.stores.outbox import OutboxRow, OutboxStore

_log = logging.getLogger(__name__)

_ANSWER_GRACE_S: Final = 5.0
"""The connection answers every Send by its deadline; later than that nobody will."""
_OUTSIDE_AFTER_S: Final = 30.0
_OUTSIDE_AGE_MS: Final = 600_000
_WITHHELD: Final = "/withheld"
_NOT_TRIED: Final = frozenset({"not_ready", "not_connected"})


@dataclass(frozen=True, slots=True, kw_only=True)
class OutboxSettings:
    """Pace, waits and bounds of sending (O2 to O6)."""

    pace_s: float = 1.5
    per_minute: int = 20
    busy_every_s: float = 10.0
    """One busy reply to the same member in this time; further ones are dropped."""
    max_attempts: int = 5
    backoff_first_s: float = 2.0
    backoff_cap_s: float = 60.0
    napcat_within_s: float = 15.0
    answer_within_s: float = 20.0
    muted_for_s: float = 600.0
    removed_for_s: float = 3_600.0
    offline_for_s: float = 60.0
    relook_every_s: float = 300.0
    """Unknown rows whose history could not be read are looked up again in this time."""
    self_message_missing_after_s: float = 30.0
    doubt: DoubtSettings = field(default_factory=DoubtSettings)
    withheld_text: str = "（有一条回复没有通过内容保护检查，未发送。）"


@dataclass(frozen=True, slots=True, kw_only=True)
class OutboxPorts:
    """How the outbox reaches others; wiring fills it in.

    `tell_connection` delivers a Send or Look and says whether it could. `undeliverable` hears of an
    approval question that will never reach the group, so that its task does not wait for nothing.
    `alert` gets a stable code and ids: self_messages_missing, delivery_unknown, undeliverable,
    withheld.
    """

    tell_connection: Callable[[Send | Look], bool]
    undeliverable: Callable[[TaskId | None, TicketId | None, str], None]
    alert: Callable[[str, Mapping[str, int | str]], None]


@dataclass(slots=True, kw_only=True)
class _Flight:
    row: OutboxRow
    due_s: float


class Outbox(PerlicaActor):
    """One send in flight; the row of an attempt is committed before the socket is written."""

    def __init__(
        self,
        *,
        settings: OutboxSettings,
        database_path: Path,
        group_id: GroupId,
        self_id: UserId,
        ports: OutboxPorts,
        alarm: Alarm,
    ) -> None:
        """Prepare; the database opens with the actor. Nothing is sent before ConnectionChanged."""
        super().__init__(name="outbox", alarm=alarm)
        self._settings = settings
        self._database_path = database_path
        self._group_id = group_id
        self._ports = ports
        self._doubts = Doubts(settings.doubt, group_id=group_id, self_id=self_id)
        self._pace = Pace(settings.pace_s, settings.per_minute)
        self._holds = Holds()
        self._is_ready = False
        self._flight: _Flight | None = None
        self._failures: dict[OutboxId, int] = {}
        self._without_mention: set[OutboxId] = set()
        self._busy_sent_s: dict[UserId, float] = {}
        self._unmatched: dict[MessageId, tuple[float, SelfMessageSeen]] = {}
        self._self_message_due_s: float | None = None
        self._self_messages_work = False
        self._relook_s = 0.0
        self._timer: threading.Timer | None = None

    def begin(self) -> None:
        """Open the database; what was being sent at a crash is unknown now."""
        self._database = Database.open(self._database_path)
        self._store = OutboxStore(self._database)
        with self._database.transaction():
            self._store.recover_sending()
        self._doubts.add(self._store.list_unknown())

    def end(self) -> None:
        """Close the database; a send in flight is looked up at the next start."""
        if self._timer is not None:
            self._timer.cancel()
        database: Database | None = getattr(self, "_database", None)
        if database is not None:
            database.close()

    def handle(self, message: object) -> object:
        """Take one message in and do what is due."""
        match message:
            case OutboxRung():
                pass
            case Tick():
                self._look_at_the_clock()
            case SendAnswered():
                self._take_answer(message)
            case Seen():
                resolved = self._doubts.read(message.key, message.response, self._is_claimed)
                self._settle_doubt(resolved)
            case SelfMessageSeen():
                self._recognise(message)
            case GroupNotice():
                self._heed(message)
            case ConnectionChanged():
                self._change_connection(message)
            case _:
                raise TypeError(type(message).__name__)
        self._advance()
        return None
