"""NapCatConnection: owns the link to NapCat, its readiness and its calls.

Frames of our group go through the InboundQueue to protection; the outbox sends through here and
hears how each send ended. No handler waits for NapCat: answers come in the link's threads.
"""

import logging
from dataclasses import dataclass
from typing import Final

from actors.base import Alarm, PerlicaActor, Ref, tell_safely
from actors.messages import (
    ConnectionChanged,
    Drain,
    FramesWaiting,
    Look,
    React,
    Seen,
    Send,
    SendAnswered,
    Tick,
)
from perlica.clients.napcat import (
    Answer,
    DialTransport,
    InboundQueue,
    IntakePosition,
    ListenTransport,
    NapCatLink,
    NapCatSettings,
    Transport,
)
from perlica.clients.onebot import build_call, new_echo, succeeded
from perlica.domain.errors import Refused

_log = logging.getLogger(__name__)

_STOP_WITHIN_S: Final = 1.8
"""The whole stop of this actor ends within two seconds."""
_REACTION_WITHIN_S: Final = 10.0


@dataclass(frozen=True, slots=True, kw_only=True)
class Peers:
    """Whom the connection tells; `reconciler` may be missing in a test."""

    protection: Ref
    outbox: Ref
    reconciler: Ref | None = None


class _TellPeers:
    """The link's listener: turns its news into messages, in the link's threads."""

    def __init__(self, peers: Peers) -> None:
        self._peers = peers

    def frames_wait(self) -> None:
        tell_safely(self._peers.protection, FramesWaiting())

    def state_changed(self, *, is_ready: bool, reason: str) -> None:
        _log.info("napcat connection changed", extra={"ready": is_ready, "reason": reason})
        changed = ConnectionChanged(ready=is_ready, reason=reason)
        tell_safely(self._peers.outbox, changed)
        tell_safely(self._peers.reconciler, changed)


class NapCatConnection(PerlicaActor):
    """The last actor to start and the first to stop: nothing comes in before all others stand."""

    def __init__(
        self,
        *,
        settings: NapCatSettings,
        queue: InboundQueue,
        position: IntakePosition,
        peers: Peers,
        alarm: Alarm,
        transport: Transport | None = None,
    ) -> None:
        """Prepare; the link starts with the actor. `transport` replaces the one of the settings."""
        super().__init__(name="napcat", alarm=alarm)
        self._peers = peers
        self._link = NapCatLink(
            settings,
            transport=transport or make_transport(settings),
            queue=queue,
            position=position,
            listener=_TellPeers(peers),
        )

    def begin(self) -> None:
        """Start to dial."""
        self._link.start()

    def end(self) -> None:
        """Cut the connection and end its threads."""
        if not self._link.stop(_STOP_WITHIN_S):
            _log.warning("the napcat link did not end in time")

    def handle(self, message: object) -> object:
        """Send, look, keep alive; nothing here waits for NapCat."""
        match message:
            case Tick():
                self._link.keep_alive()
            case Send():
                self._send(message)
            case Look():
                self._look(message)
            case React():
                self._react(message)
            case Drain():
                self._link.stop_intake()
            case _:
                raise TypeError(type(message).__name__)
        return None

    def _send(self, send: Send) -> None:
        outbox = self._peers.outbox

        def report(answer: Answer) -> None:
            answered = SendAnswered(
                outbox=send.outbox,
                attempt=send.attempt,
                wrote=answer.wrote,
                response=answer.response,
                fault=answer.fault,
            )
            tell_safely(outbox, answered)

        try:
            self._link.start_call(send.frame, within_s=send.within_s, on_answer=report)
        except Refused as error:
            report(Answer(wrote=False, response=None, fault=error.code))

    def _look(self, look: Look) -> None:
        outbox = self._peers.outbox

        def report(answer: Answer) -> None:
            tell_safely(outbox, Seen(key=look.key, response=answer.response))

        try:
            frame = build_call(look.action, look.params, echo=new_echo())
            self._link.start_call(frame, within_s=look.within_s, on_answer=report)
        except Refused as error:
            report(Answer(wrote=False, response=None, fault=error.code))

    def _react(self, react: React) -> None:
        """A courtesy: nobody waits for it, nobody repeats it, and a failure costs nothing."""
        ids = {"message_id": str(react.message_id), "emoji_id": str(react.emoji_id)}
        params = {**ids, "set": True}
        frame = build_call("set_msg_emoji_like", params, echo=new_echo())
        self._link.start_call(frame, within_s=_REACTION_WITHIN_S, on_answer=_note_reaction)


def _note_reaction(answer: Answer) -> None:
    if not succeeded(answer.response):
        _log.info("no reaction was set", extra={"fault": answer.fault or "refused"})


def make_transport(settings: NapCatSettings) -> Transport:
    """We dial NapCat, or wait for it to dial us.

    Raises: Misconfigured when the address to listen on cannot be bound.
    """
    return ListenTransport(settings) if settings.reverse else DialTransport(settings)
