"""The WebSocket server of the stand-in: who comes in, what is answered, what is pushed.

`NapCatStandIn` builds on it with what members do and what tests wait for.
"""

import secrets
import socket
import threading
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from types import TracebackType
from typing import Self
from urllib.parse import parse_qs

from perlica.demo.napcat import events
from perlica.demo.napcat.account import Account, demo_account
from perlica.demo.napcat.agenda import Agenda
from perlica.demo.napcat.broadcast import Broadcast
from perlica.demo.napcat.call_handler import Call, CallHandler, bad_token
from perlica.demo.napcat.connection import Admit, Connection, Judgement, TurnAway
from perlica.demo.napcat.dialler import DialledConnection, Dialler
from perlica.demo.napcat.events import Frame, MessageFormat
from perlica.demo.napcat.faults import CloseAtOnce, ConnectFault, Faults, RejectToken
from perlica.demo.napcat.feed import Feed
from perlica.demo.napcat.heartbeat import Heartbeat
from perlica.demo.napcat.kernel import Draft, Kernel
from perlica.demo.napcat.listener import LOOPBACK, Listener
from perlica.demo.napcat.message import Message
from perlica.demo.napcat.wire import encode

API_PATHS = frozenset({"/api", "/api/"})


@dataclass(frozen=True, slots=True, kw_only=True)
class Settings:
    """The keys of NapCat's own configuration that change what a client sees."""

    message_format: MessageFormat = "array"
    reports_own_messages: bool = True
    heartbeat_interval_ms: int = 30_000


class NapCatServer:
    """Listens on loopback, checks the token, answers calls and pushes events."""

    def __init__(
        self,
        *,
        token: str | None = None,
        account: Account | None = None,
        settings: Settings = Settings(),
        journal: Path | None = None,
        port: int = 0,
    ) -> None:
        """Prepare everything and bind the port; `start` lets clients in. None makes up a token."""
        self.token = secrets.token_urlsafe(24) if token is None else token
        self.settings = settings
        self.kernel = Kernel(account or demo_account(), journal)
        self._listener = Listener(port, self._accept)
        self.faults = Faults()
        self.feed = Feed()
        self._lock = threading.RLock()
        self._agenda = Agenda()
        self._broadcast = Broadcast(self._agenda)
        self._heartbeat = Heartbeat(self._agenda, settings.heartbeat_interval_ms, self.beat)
        self._handler = CallHandler(self.kernel, self, self.faults, self._agenda)
        self._is_stopping = False
        self._met: list[Connection] = []
        self._diallers: list[Dialler] = []
        self._sent: list[Message] = []

    def start(self) -> Self:
        """Let clients in."""
        self._listener.start()
        return self

    def stop(self) -> None:
        """End every connection and thread."""
        self.feed.close()
        self._listener.stop()
        for dialler in self._diallers:
            dialler.stop()
        self._heartbeat.stop()
        self._agenda.stop()
        with self._lock:
            self._is_stopping = True
            met = list(self._met)
        for connection in met:
            connection.stop()
        for dialler in self._diallers:
            dialler.join()

    def __enter__(self) -> Self:
        """Start."""
        return self.start()

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        """Stop."""
        self.stop()

    def dial(self, url: str, *, token: str | None = None, interval_ms: int = 5_000) -> None:
        """Connect to a bot that listens (reverse WebSocket), again and again at this interval.

        `url` is `ws://…`; `token` None sends our own.
        """
        headers = {
            "X-Self-ID": str(self.self_id),
            "Authorization": f"Bearer {self.token if token is None else token}",
            "x-client-role": "Universal",
            "User-Agent": "OneBot/11",
        }

        def connect(sock: socket.socket) -> Connection:
            with self._lock:
                connection = DialledConnection(
                    sock, self, number=len(self._met) + 1, url=url, headers=headers
                )
                if self._is_stopping:
                    connection.stop()
                    return connection
                self._met.append(connection)
                connection.start()
                return connection

        self._diallers.append(Dialler(url, connect, interval_ms=interval_ms))

    # -- where it is, and what it has seen -------------------------------------------------

    @property
    def port(self) -> int:
        """The port clients connect to."""
        return self._listener.port

    @property
    def url(self) -> str:
        """The address to put into Perlica's configuration."""
        return f"ws://{LOOPBACK}:{self.port}/"

    @property
    def self_id(self) -> int:
        """The number of the account Perlica speaks through."""
        return self.kernel.self_id

    @property
    def group_id(self) -> int:
        """The first group of the account: the target group."""
        return self.kernel.account.groups[0].group_id

    @property
    def connections(self) -> tuple[Connection, ...]:
        """Connections that are open now."""
        return self._broadcast.connections

    @property
    def connection_count(self) -> int:
        """How many TCP connections were ever made."""
        with self._lock:
            return len(self._met)

    @property
    def sent(self) -> tuple[Message, ...]:
        """What clients made the account say, oldest first."""
        with self._lock:
            return tuple(self._sent)

    @property
    def calls(self) -> tuple[Call, ...]:
        """Every call of a client, oldest first."""
        with self._lock:
            return tuple(self._handler.calls)

    # -- events ----------------------------------------------------------------------------

    def beat(self) -> None:
        """Send a heartbeat now."""
        beat = events.heartbeat(
            self.self_id,
            online=self.kernel.online,
            interval_ms=self.settings.heartbeat_interval_ms,
        )
        self._broadcast.push(beat)

    def event_of(self, message: Message) -> Frame:
        """The event frame of a message, to be changed and injected."""
        sender = self.kernel.member(message.group_id, message.user_id)
        form = self.settings.message_format
        return events.pushed_message(message, self.kernel.account, sender, form)

    # -- what connections and the call handler ask of it --------------------------------------

    def judge(
        self, target: str, headers: Mapping[str, str], fault: ConnectFault | None
    ) -> Judgement:
        """NapCat's token check: the query wins over the header when it is not empty."""
        if fault is not None and not isinstance(fault, RejectToken | CloseAtOnce):
            return fault
        path, _, query = target.partition("?")
        given = parse_qs(query).get("access_token", [""])[0]
        given = given or headers.get("authorization", "").split("Bearer ")[-1]
        if isinstance(fault, RejectToken) or (self.token and given != self.token):
            return TurnAway(frame=bad_token())
        return Admit(takes_events=path not in API_PATHS)

    def opened(self, connection: Connection) -> None:
        """Greet, and count the connection in."""
        with self._lock:
            if connection.takes_events:
                connection.send(encode(events.lifecycle(self.self_id)))
                self._heartbeat.start()
            self._broadcast.add(connection)
            self.feed.publish("connections", {})

    def received(self, connection: Connection, text_frame: str) -> None:
        """Answer a call."""
        with self._lock:
            self._handler.handle(connection, text_frame, self.settings.message_format)
        self.feed.ring()

    def closed(self, connection: Connection) -> None:
        """Count the connection out."""
        with self._lock:
            self._broadcast.remove(connection)
            if not self._broadcast.listeners:
                self._heartbeat.stop()
            self.feed.publish("connections", {})

    def deliver(self, draft: Draft) -> Message:
        """A client's message appears in the group."""
        with self._lock:
            message = self._post(draft)
            self._sent.append(message)
        self.feed.ring()
        return message

    def report_own(self, message: Message) -> None:
        """Push `message_sent`, if the settings say so."""
        with self._lock:
            if self.settings.reports_own_messages:
                self._broadcast.push(self.event_of(message))

    def changed(self, message: Message) -> None:
        """Tell the chat page to draw a message anew."""
        self.feed.publish("changed", {"kernel_id": message.kernel_id})

    # -- inside ----------------------------------------------------------------------------

    def _accept(self, sock: socket.socket, number: int) -> None:
        fault = self.faults.take_connection()
        connection = Connection(sock, self, number=number, fault=fault)
        with self._lock:
            self._met.append(connection)
            if isinstance(fault, CloseAtOnce):
                sock.close()
            else:
                connection.start()

    def _post(self, draft: Draft) -> Message:
        message = self.kernel.post(draft)
        if self.kernel.is_pushed(message):
            self.kernel.known_ids.remember(message)
        self.feed.publish("message", {"kernel_id": message.kernel_id})
        return message

    def _push(self, message: Message) -> None:
        if not self.kernel.is_pushed(message):
            return
        if message.user_id == self.self_id:
            self.report_own(message)
            return
        for segment in message.segments:
            if segment["type"] == "file":
                self._broadcast.push(events.group_upload(self.self_id, message, segment))
        self._broadcast.push(self.event_of(message), self.faults.take_event())
