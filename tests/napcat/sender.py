"""A process that sends what stands in a database, to be killed: `python -m tests.napcat.sender`.

Arguments: database, address of the stand-in; the token comes over standard input.
"""

import sys
from pathlib import Path

from actors.base import Alarm, Ref, tell_safely
from actors.messages import Ready, Tick
from actors.napcat import NapCatConnection, Peers
from actors.outbox import Outbox, OutboxPorts
from perlica.clients.napcat import InboundQueue, NapCatSettings
from perlica.domain.ids import GroupId, UserId
from tests.napcat.rig import BOT, OUR_GROUP, QUICK_OUTBOX, Clock, Ear, MemoryPosition


def main(database: str, url: str) -> None:
    """Send until killed, or until standard input ends."""
    settings = NapCatSettings(
        url=url,
        token=sys.stdin.readline().strip(),
        group_id=GroupId(OUR_GROUP),
        self_id=UserId(BOT),
        backoff_first_s=0.02,
    )
    alarm, queue = Alarm(), InboundQueue()
    connection: list[Ref] = []
    outbox = Outbox.start(
        settings=QUICK_OUTBOX,
        database_path=Path(database),
        group_id=GroupId(OUR_GROUP),
        self_id=UserId(BOT),
        ports=OutboxPorts(
            tell_connection=lambda message: tell_safely(connection[0], message),
            undeliverable=lambda *_: None,
            alert=lambda *_: None,
        ),
        alarm=alarm,
    )
    outbox.ask(Ready(), timeout=5)
    ear = Ear.start(queue, lambda: outbox)
    connection.append(
        NapCatConnection.start(
            settings=settings,
            queue=queue,
            position=MemoryPosition(),
            peers=Peers(protection=ear, outbox=outbox),
            alarm=alarm,
        )
    )
    clock = Clock(lambda: [tell_safely(ref, Tick()) for ref in (outbox, connection[0])])
    sys.stdin.read()
    clock.stop()
    for ref in (connection[0], ear, outbox):
        ref.stop(timeout=5)


if __name__ == "__main__":
    main(sys.argv[1], sys.argv[2])
