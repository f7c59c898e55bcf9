"""Perlica's side of the connection for tests: a clock, an ear, a link, the two actors.

Everything is real but the protection actor, of which `Ear` keeps what concerns the outbox.
"""

import threading
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Self, TypeVar

import pykka

from actors.base import Alarm, PerlicaActor, Ref, tell_safely
from actors.messages import (
    ConnectionChanged,
    FramesWaiting,
    GroupNotice,
    Look,
    OutboxRung,
    Ready,
    SelfMessageSeen,
    Send,
    Tick,
)
from actors.napcat.actor import NapCatConnection, Peers
from actors.outbox.actor import Outbox, OutboxPorts, OutboxSettings
from actors.outbox.reconciliation import ReconciliationSettings
from perlica.clients.napcat import (
    CatchUpSettings,
    DialTransport,
    InboundFrame,
    InboundQueue,
    NapCatLink,
    NapCatSettings,
    Transport,
)
from perlica.clients.onebot import NoticeKind, hash_message, parse_message, parse_notice
from perlica.demo.napcat import NapCatStandIn
from perlica.domain.ids import GroupId, OutboxId, TaskId, TicketId, UserId
from perlica.domain.outbox import OutboxKind, OutboxState
from perlica.protection import Channel, protect, restore
from perlica.stores.database import Database
from perlica.stores.migrations import check_target, migrate
from perlica.stores.outbox import OutboxRow, OutboxStore
from tests.napcat.position import MemoryPosition

__all__ = ["MemoryPosition"]

BOT, MING, HONG, JIE = 10000, 30001, 30002, 30003
OUR_GROUP, OTHER_GROUP = 600100200, 600100999
TICK_S = 0.02
PATIENCE_S = 10.0

Found = TypeVar("Found")

QUICK_OUTBOX = OutboxSettings(
    pace_s=0.01,
    per_minute=10_000,
    backoff_first_s=0.02,
    backoff_cap_s=0.05,
    answer_within_s=1.0,
    napcat_within_s=0.5,
    relook_every_s=3600,
    reconciliation=ReconciliationSettings(self_message_within_s=0.3, look_within_s=1.0),
)


def eventually(look: Callable[[], Found], within_s: float = PATIENCE_S) -> Found:
    """What `look` gives once it is true; fails when it is not in time."""
    deadline = time.monotonic() + within_s
    pause = threading.Event()
    while not (found := look()):
        assert time.monotonic() < deadline, f"not within {within_s} s; last: {found!r}"
        pause.wait(0.005)
    return found


def settings_for(napcat: NapCatStandIn, **changes: Any) -> NapCatSettings:
    """Settings that reach the stand-in, with waits short enough for a test."""
    given: dict[str, Any] = {
        "url": napcat.url,
        "token": napcat.token,
        "group_id": GroupId(napcat.group_id),
        "self_id": UserId(napcat.self_id),
        "backoff_first_s": 0.02,
        "backoff_cap_s": 0.1,
        "io_timeout_s": 0.2,
        "connect_within_s": 1.0,
        "lifecycle_within_s": 1.0,
        "call_within_s": 2.0,
        "not_ready_retry_s": 0.1,
        "offline_hold_s": 0.1,
        "removed_hold_s": 0.1,
        "queue_patience_s": 0.1,
        "settle_within_s": 0.05,
        "catch_up": CatchUpSettings(page_messages=10, overlap_messages=2),
    }
    return NapCatSettings(**{**given, **changes})


class Clock:
    """Calls somebody about as often as the service's clock would, only faster."""

    def __init__(self, beat: Callable[[], object]) -> None:
        self._beat = beat
        self._stopped = threading.Event()
        self._thread = threading.Thread(target=self._run, name="test-clock", daemon=True)
        self._thread.start()

    def _run(self) -> None:
        while not self._stopped.wait(TICK_S):
            self._beat()

    def stop(self) -> None:
        self._stopped.set()
        self._thread.join()


class LinkRig:
    """A link with its queue; `states` is what the listener heard, `taken` what came through."""

    def __init__(
        self,
        settings: NapCatSettings,
        *,
        transport: Transport | None = None,
        position: MemoryPosition | None = None,
        queue: InboundQueue | None = None,
    ) -> None:
        self.settings = settings
        self.position = position or MemoryPosition()
        self.queue = queue or InboundQueue()
        self.states: list[tuple[bool, str]] = []
        self.rings = 0
        self._taken: list[InboundFrame] = []
        self.link = NapCatLink(
            settings,
            transport=transport or DialTransport(settings),
            queue=self.queue,
            position=self.position,
            listener=self,
        )
        self._clock: Clock | None = None

    def frames_wait(self) -> None:
        self.rings += 1

    def state_changed(self, *, is_ready: bool, reason: str) -> None:
        self.states.append((is_ready, reason))

    def __enter__(self) -> Self:
        self.link.start()
        self._clock = Clock(self.link.keep_alive)
        return self

    def __exit__(self, *_: object) -> None:
        if self._clock is not None:
            self._clock.stop()
        assert self.link.stop(5.0), "the link's threads did not end"

    def wait_ready(self, times: int = 1) -> None:
        eventually(lambda: self.states.count((True, "ready")) >= times)

    def wait_settled(self) -> None:
        """Ready, and the first catch-up is over: what comes from now on comes once."""
        self.wait_ready()
        eventually(lambda: self.position.releases)

    def wait_state(self, reason: str) -> None:
        eventually(lambda: any(said == reason for _, said in self.states))

    def taken(self) -> list[InboundFrame]:
        """Everything that came so far, stored as intake would store it."""
        while batch := self.queue.drain(64):
            self._taken.extend(batch)
            for item in batch:
                seq = int(item.frame.get("real_seq") or 0)
                self.position.stored = max(self.position.stored or 0, seq)
        return self._taken

    def texts(self) -> list[str]:
        return [item.frame.get("raw_message", "") for item in self.taken()]

    def wait_text(self, text: str) -> InboundFrame:
        def look() -> InboundFrame | None:
            items = self.taken()
            return next((i for i in items if text in i.frame.get("raw_message", "")), None)

        found = eventually(look)
        assert found is not None
        return found


class Ear(PerlicaActor):
    """Of protection what the outbox needs: our own messages and the notices."""

    def __init__(self, queue: InboundQueue, outbox: Callable[[], Ref | None]) -> None:
        super().__init__(name="ear", alarm=Alarm())
        self._queue = queue
        self._outbox = outbox

    def handle(self, message: object) -> object:
        if isinstance(message, FramesWaiting):
            while batch := self._queue.drain(64):
                for item in batch:
                    self._tell(item.frame)
        return None

    def _tell(self, frame: Mapping[str, Any]) -> None:
        if frame.get("post_type") == "notice":
            notice = parse_notice(frame)
            kinds = (NoticeKind.muted, NoticeKind.unmuted, NoticeKind.removed)
            if notice.kind in kinds:
                tell_safely(self._outbox(), GroupNotice(kind=notice.kind.value))
            return
        message = parse_message(frame, self_id=UserId(BOT))
        if message.is_self:
            seen = SelfMessageSeen(
                message_id=message.message_id,
                text_sha256=hash_message(message),
                sent_at_ms=message.sent_at_ms,
            )
            tell_safely(self._outbox(), seen)


class Catcher(PerlicaActor):
    """Keeps what it is told."""

    def __init__(self, caught: list[Any]) -> None:
        super().__init__(name="catcher", alarm=Alarm())
        self._caught = caught

    def handle(self, message: object) -> object:
        self._caught.append(message)
        return None


class Service:
    """Outbox and connection over a real database; `restart` is a kill and a new start."""

    def __init__(
        self,
        napcat: NapCatStandIn,
        database_path: Path,
        *,
        outbox: OutboxSettings = QUICK_OUTBOX,
        hears_itself: bool = True,
        **connection: Any,
    ) -> None:
        self.napcat = napcat
        self.path = database_path
        self.alarm = Alarm()
        self.alerts: list[tuple[str, Mapping[str, int | str]]] = []
        self.undeliverable: list[tuple[TaskId | None, TicketId | None, str]] = []
        self.position = MemoryPosition()
        self._changes: list[ConnectionChanged] = []
        self._outbox_settings = outbox
        self._settings = settings_for(napcat, **connection)
        self._hears_itself = hears_itself
        self._outbox_ref: Ref | None = None
        self._connection_ref: Ref | None = None
        self._ear_ref: Ref | None = None
        self._watcher_ref: Ref | None = None
        self._clock: Clock | None = None
        if not database_path.exists():
            migrate(database_path)
        with Database.open(database_path) as database:
            check_target(database, napcat.group_id, napcat.self_id)

    def __enter__(self) -> Self:
        self.start()
        return self

    def __exit__(self, *_: object) -> None:
        self.stop()
        assert not self.alarm.faults, self.alarm.faults

    def start(self) -> None:
        queue = InboundQueue()
        self._outbox_ref = Outbox.start(
            settings=self._outbox_settings,
            database_path=self.path,
            group_id=GroupId(self.napcat.group_id),
            self_id=UserId(self.napcat.self_id),
            ports=OutboxPorts(
                tell_connection=self._tell_connection,
                undeliverable=lambda *told: self.undeliverable.append(told),
                alert=lambda code, ids: self.alerts.append((code, ids)),
            ),
            alarm=self.alarm,
        )
        assert self._outbox_ref.ask(Ready(), timeout=5)
        hearer = (lambda: self._outbox_ref) if self._hears_itself else (lambda: None)
        self._ear_ref = Ear.start(queue, hearer)
        self._watcher_ref = Catcher.start(self._changes)
        self._connection_ref = NapCatConnection.start(
            settings=self._settings,
            queue=queue,
            position=self.position,
            peers=Peers(
                protection=self._ear_ref,
                outbox=self._outbox_ref,
                reconciler=self._watcher_ref,
            ),
            alarm=self.alarm,
        )
        self._clock = Clock(self._tick)

    def stop(self) -> None:
        if self._clock is not None:
            self._clock.stop()
            self._clock = None
        refs = (self._connection_ref, self._ear_ref, self._outbox_ref, self._watcher_ref)
        for ref in refs:
            if ref is not None:
                ref.stop(timeout=5)
        self._connection_ref = self._ear_ref = self._outbox_ref = self._watcher_ref = None

    @property
    def states(self) -> list[tuple[bool, str]]:
        """What the connection said about itself."""
        return [(change.ready, change.reason) for change in self._changes]

    def restart(self) -> None:
        self.stop()
        self.start()

    def tell_outbox(self, message: object) -> None:
        tell_safely(self._outbox_ref, message)

    def tell_connection(self, message: object) -> None:
        tell_safely(self._connection_ref, message)

    def enqueue(self, text: str, **how: Any) -> tuple[OutboxId, ...]:
        """Queue a text and ring."""
        given: dict[str, Any] = {"key": f"k{time.monotonic_ns()}", "kind": OutboxKind.final}
        with Database.open(self.path) as database, database.transaction():
            ids = OutboxStore(database).enqueue(
                content=protect(text, Channel.OUTBOX), **{**given, **how}
            )
        self.tell_outbox(OutboxRung())
        return ids

    def enqueue_unscanned(self, text: str, **how: Any) -> OutboxId:
        """A row as an older rule set would have left it."""
        content = restore(text, "scanned_no_findings", "2020-01-01.1", 0)
        given: dict[str, Any] = {"key": f"k{time.monotonic_ns()}", "kind": OutboxKind.final}
        with Database.open(self.path) as database, database.transaction():
            (row,) = OutboxStore(database).enqueue(content=content, **{**given, **how})
        self.tell_outbox(OutboxRung())
        return row

    def barrier(self) -> None:
        """Everything told to the outbox before is done."""
        assert self._outbox_ref is not None
        assert self._outbox_ref.ask(Ready(), timeout=5)

    def row(self, row: OutboxId) -> OutboxRow:
        with Database.open(self.path) as database:
            found = OutboxStore(database).find(row)
        assert found is not None
        return found

    def wait_row(self, row: OutboxId, state: str) -> OutboxRow:
        wanted = OutboxState(state)

        def look() -> OutboxRow | None:
            found = self.row(row)
            return found if found.state is wanted else None

        found = eventually(look)
        assert found is not None
        return found

    def sent_texts(self) -> list[str]:
        return [message.text for message in self.napcat.sent]

    def _tell_connection(self, message: Send | Look) -> bool:
        return tell_safely(self._connection_ref, message)

    def _tick(self) -> None:
        for ref in (self._outbox_ref, self._connection_ref):
            tell_safely(ref, Tick())


@contextmanager
def no_actors_left() -> Iterator[None]:
    """A test that forgets an actor fails instead of disturbing the next one."""
    yield
    left = pykka.ActorRegistry.get_all()
    for ref in left:
        ref.stop(timeout=2)
    assert not left, f"actors left behind: {left}"
