"""Where recorded cases are played: stand-ins with connected peers, made on demand.

A player gets the stage and the recorded frames (for echoes and texts) and returns our frames in
the same container. See golden_calls and golden_events.
"""

from collections.abc import Callable
from contextlib import ExitStack
from dataclasses import dataclass, field, replace

from perlica.demo.napcat import NapCatStandIn, Settings
from tests.demo.peer import Json, Peer

BOT, MING, UNKNOWN_MEMBER = 10000, 30001, 30999
TARGET_GROUP = 600100200
BAD_TOKEN = "wrong"
LATE_S = 0.1
UNKNOWN_ID = 999
QUIET = Settings(heartbeat_interval_ms=0)


@dataclass
class Stage:
    """Stand-ins made on demand and ended with the test."""

    exits: ExitStack
    _by_format: dict[str, tuple[NapCatStandIn, Peer]] = field(default_factory=dict)

    def napcat(self, settings: Settings = QUIET) -> NapCatStandIn:
        return self.exits.enter_context(NapCatStandIn(token="golden", settings=settings))

    def peer(self, napcat: NapCatStandIn, **how: Json) -> Peer:
        return self.exits.enter_context(Peer(napcat, **how))

    def pair(self, form: str = "array") -> tuple[NapCatStandIn, Peer]:
        """A stand-in and a greeted peer; the string one reports no own messages, as recorded."""
        if form not in self._by_format:
            settings = QUIET
            if form == "string":
                settings = replace(QUIET, message_format="string", reports_own_messages=False)
            napcat = self.napcat(settings)
            peer = self.peer(napcat)
            peer.frame()
            self._by_format[form] = napcat, peer
        return self._by_format[form]


Player = Callable[[Stage, Json], Json]
