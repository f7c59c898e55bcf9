"""The way to NapCat: sockets, liveness, readiness, catch-up; no database and no actors.

`actors.napcat.actor` owns a NapCatLink; the protection actor drains its InboundQueue.
"""

from perlica.clients.napcat.backoff import Backoff, bound_after
from perlica.clients.napcat.calls import Answer
from perlica.clients.napcat.connection import NapCatSocket
from perlica.clients.napcat.dial import DialTransport
from perlica.clients.napcat.inbound import InboundFrame, InboundQueue
from perlica.clients.napcat.link import LinkListener, NapCatLink
from perlica.clients.napcat.listen import ListenTransport
from perlica.clients.napcat.pacing import Holds, Pace
from perlica.clients.napcat.position import Gap, IntakePosition
from perlica.clients.napcat.settings import CatchUpSettings, NapCatSettings
from perlica.clients.napcat.transport import Transport, Unreachable
from perlica.clients.napcat.wire import Wire, WireBroken, WriteFailed

__all__ = [
    "Answer",
    "Backoff",
    "CatchUpSettings",
    "DialTransport",
    "Gap",
    "Holds",
    "InboundFrame",
    "InboundQueue",
    "IntakePosition",
    "LinkListener",
    "ListenTransport",
    "NapCatLink",
    "NapCatSettings",
    "NapCatSocket",
    "Pace",
    "Transport",
    "Unreachable",
    "Wire",
    "WireBroken",
    "WriteFailed",
    "bound_after",
]
