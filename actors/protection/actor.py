"""Protection: intake of the group's messages, in batches of one transaction each.

The connection's reader fills the inbound queue and rings; what intake stored is told to the
coordinator and the outbox after the commit.
"""

from pathlib import Path

from actors.base import Alarm, PerlicaActor, Ref, Wires, tell_safely
from actors.messages import (
    FramesWaiting,
    GroupNotice,
    OutboxRung,
    React,
    SelfMessageSeen,
    Tick,
)
from actors.protection.intake import Intake, IntakeSettings, Told
from actors.protection.restored import announce_undone
from perlica.clients.napcat.inbound import InboundQueue
from perlica.stores.database import Database

_BATCH = 64


class Protection(PerlicaActor):
    """Drains up to 64 frames in one transaction, then tells."""

    def __init__(
        self,
        *,
        database_path: Path,
        inbound: InboundQueue,
        settings: IntakeSettings,
        wires: Wires,
        alarm: Alarm,
    ) -> None:
        """Keep the parts; the connections open in the actor's own thread."""
        super().__init__(name="protection", alarm=alarm)
        self._path = database_path
        self._inbound = inbound
        self._settings = settings
        self._wires = wires

    def begin(self) -> None:
        """Open both connections and count the crash that left messages in hand."""
        self._database = Database.open(self._path)
        self._marks = Database.open(self._path, relaxed=True)
        self._intake = Intake(self._database, self._marks, self._settings)
        self._intake.note_crashes()

    def end(self) -> None:
        """Close both connections."""
        for database in (getattr(self, "_database", None), getattr(self, "_marks", None)):
            if database is not None:
                database.close()

    def handle(self, message: object) -> object:
        """Drain what waits; a tick does the same, should a bell have been lost."""
        match message:
            case FramesWaiting() | Tick():
                self._drain()
            case _:
                raise TypeError(type(message).__name__)
        return None

    def _drain(self) -> None:
        while frames := self._inbound.drain(_BATCH):
            for bell in self._intake.take(frames):
                tell_safely(self._hearer_of(bell), bell)
            tell_safely(self._wires.outbox, OutboxRung())
        is_told = announce_undone(self._database, self._settings.language)
        if self._intake.announce_missed() or is_told:
            tell_safely(self._wires.outbox, OutboxRung())

    def _hearer_of(self, bell: Told) -> Ref | None:
        match bell:
            case SelfMessageSeen() | GroupNotice():
                return self._wires.outbox
            case React():
                return self._wires.connection
            case _:
                return self._wires.coordinator
