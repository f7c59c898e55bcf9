"""The NapCat stand-in as tests and the demo use it: members speak, QQ misbehaves, tests wait.

Perlica connects to it as to the real NapCat and cannot tell the difference by the frames.
"""

from collections.abc import Callable, Sequence

from perlica.demo.napcat import events
from perlica.demo.napcat.call_handler import Call
from perlica.demo.napcat.connection import WHOLE_TEXT, Connection
from perlica.demo.napcat.events import Frame
from perlica.demo.napcat.kernel import Draft
from perlica.demo.napcat.message import Message
from perlica.demo.napcat.segments import Segment, at, reply, text
from perlica.demo.napcat.server import NapCatServer

PATIENCE_S = 45.0
OFFLINE_TAG = "下线通知"
OFFLINE_TEXT = "你的帐号当前登录已失效，请重新登录。"


class NothingCame(AssertionError):
    """What a test waited for did not happen in time; the text lists what happened instead."""


class NapCatStandIn(NapCatServer):
    """Start it, speak as members with `say`, and look at what Perlica sent."""

    # -- what members do -------------------------------------------------------------------

    def say(
        self,
        user_id: int,
        content: str | Sequence[Segment],
        *,
        group: int | None = None,
        mention: bool = False,
        reply_to: Message | None = None,
        message_id: int | None = None,
        sent_at_s: int | None = None,
    ) -> Message:
        """A member says something; it is pushed with the next planned event fault.

        `message_id` forces a collision of ids; `sent_at_s` before the start is never pushed, only
        found in the history. Saying it as the account itself is a message from its phone.
        """
        segments = [text(content)] if isinstance(content, str) else list(content)
        if mention:
            segments = [at(self.self_id), *_spaced(segments)]
        if reply_to is not None:
            segments = [reply(reply_to.message_id), *segments]
        draft = Draft(
            group_id=self.group_id if group is None else group,
            user_id=user_id,
            segments=tuple(segments),
            message_id=message_id,
            sent_at_s=sent_at_s,
        )
        with self._lock:
            message = self._post(draft)
            self._push(message)
        return message

    def redeliver(self, message: Message) -> None:
        """Push the identical event again, as a duplicate kernel callback does (S07)."""
        with self._lock:
            self._broadcast.push(self.event_of(message))

    def recall(self, message: Message, *, by: int | None = None) -> None:
        """Somebody takes a message back; by default its author."""
        with self._lock:
            self.kernel.recall(message)
            operator = message.user_id if by is None else by
            self._broadcast.push(events.group_recall(self.self_id, message, operator))
            self.changed(message)

    def mute_bot(self, duration_s: int = 600, *, group: int | None = None, by: int = 0) -> None:
        """QQ refuses the account's messages with 120 until `unmute_bot`."""
        with self._lock:
            self.kernel.mute(group or self.group_id)
            self._announce_ban(group, by, duration_s)

    def unmute_bot(self, *, group: int | None = None, by: int = 0) -> None:
        """The account may speak again."""
        with self._lock:
            self.kernel.unmute(group or self.group_id)
            self._announce_ban(group, by, 0)

    def take_bot_back(self, *, group: int | None = None) -> None:
        """The account is a member again; nobody says so."""
        with self._lock:
            self.kernel.take_back(group or self.group_id)

    def remove_bot(self, *, group: int | None = None, by: int = 0, is_noticed: bool = True) -> None:
        """The account is thrown out of the group; sends are refused with 110."""
        with self._lock:
            group_id = group or self.group_id
            self.kernel.remove(group_id)
            if not is_noticed:
                return
            notice = events.group_decrease(
                self.self_id,
                group_id=group_id,
                user_id=self.self_id,
                operator_id=by,
                sub_type="kick_me",
            )
            self._broadcast.push(notice)

    def change_card(self, user_id: int, card: str, *, group: int | None = None) -> None:
        """A member changes his card in the group."""
        with self._lock:
            group_id = group or self.group_id
            old = self.kernel.rename(group_id, user_id, card)
            notice = events.group_card(
                self.self_id, group_id=group_id, user_id=user_id, new=card, old=old
            )
            self._broadcast.push(notice)

    def go_offline(self) -> None:
        """QQ logs the account out: `bot_offline`, heartbeats say online:false, the socket stays."""
        with self._lock:
            self.kernel.online = False
            self.feed.publish("connections", {})
            self._broadcast.push(events.bot_offline(self.self_id, OFFLINE_TAG, OFFLINE_TEXT))

    def come_online(self) -> None:
        """The account is back; NapCat announces it by heartbeats only."""
        with self._lock:
            self.kernel.online = True
            self.feed.publish("connections", {})

    # -- what NapCat does ------------------------------------------------------------------

    def forget_ids(self) -> None:
        """Lose all public ids, as a restart of NapCat does (S10)."""
        with self._lock:
            self.kernel.known_ids.forget_all()

    def inject(self, frame: Frame) -> None:
        """Push any frame: a forged `self_id`, a notice of another kind, a group nobody is in."""
        self._broadcast.push(frame)

    def inject_text(self, text_frame: str) -> None:
        """Push a text frame that need not be JSON."""
        self._broadcast.push_text(text_frame)

    def inject_bytes(self, payload: bytes, first: int = WHOLE_TEXT) -> None:
        """Push a text frame of exactly these bytes, such as invalid UTF-8 (S25).

        With another `first` byte the frame is binary (0x82) or compressed (0xC1).
        """
        self._broadcast.push_payload(payload, first)

    def inject_oversized(self, size_bytes: int) -> None:
        """Push a well-formed frame of `size_bytes`, for the client's own limit."""
        self._broadcast.push_payload(b'"' + b"x" * (size_bytes - 2) + b'"')

    def close_connections(self) -> None:
        """Disable and enable the server: clients see an empty close frame."""
        for connection in self.connections:
            connection.close()

    def cut_connections(self, *, reset: bool = False) -> None:
        """End the TCP connections without a close frame."""
        for connection in self.connections:
            connection.cut(reset=reset)

    def freeze_connections(self) -> None:
        """The peer hangs: nothing is read, written or closed any more (S22)."""
        for connection in self.connections:
            connection.freeze()

    # -- waiting ---------------------------------------------------------------------------

    def wait_for_reply(
        self,
        predicate: Callable[[Message], bool] = lambda _message: True,
        within_s: float = PATIENCE_S,
        *,
        after: Message | None = None,
    ) -> Message:
        """The first message Perlica sent that fits, later than `after` when that is given.

        Raises:
            NothingCame: none fitted in time.
        """

        def look() -> Message | None:
            return next(
                (m for m in self.sent if _is_later(m, after) and predicate(m)),
                None,
            )

        found = self.feed.wait_until(look, within_s)
        if found is None:
            said = [message.text for message in self.sent]
            raise NothingCame(f"no fitting reply within {within_s} s; sent so far: {said!r}")
        return found

    def wait_for_connection(self, within_s: float = PATIENCE_S) -> Connection:
        """A connection that takes events; the latest one.

        Raises:
            NothingCame: nobody connected in time.
        """

        def look() -> Connection | None:
            return next(reversed(self._broadcast.listeners), None)

        found = self.feed.wait_until(look, within_s)
        if found is None:
            raise NothingCame(f"no connection within {within_s} s")
        return found

    def wait_for_call(self, action: str, within_s: float = PATIENCE_S, *, number: int = 1) -> Call:
        """The `number`-th call of this action since the start.

        Raises:
            NothingCame: there were fewer in time.
        """

        def look() -> Call | None:
            fitting = [call for call in self.calls if call.action == action]
            return fitting[number - 1] if len(fitting) >= number else None

        found = self.feed.wait_until(look, within_s)
        if found is None:
            seen = [call.action for call in self.calls]
            raise NothingCame(f"no {action} number {number} within {within_s} s; calls: {seen}")
        return found

    def _announce_ban(self, group: int | None, by: int, duration_s: int) -> None:
        notice = events.group_ban(
            self.self_id,
            group_id=group or self.group_id,
            user_id=self.self_id,
            operator_id=by,
            duration_s=duration_s,
        )
        self._broadcast.push(notice)


def _spaced(segments: Sequence[Segment]) -> list[Segment]:
    """A mention is followed by a space, as QQ clients write it."""
    if not segments or segments[0]["type"] != "text":
        return list(segments)
    return [text(f" {segments[0]['data']['text']}"), *segments[1:]]


def _is_later(message: Message, after: Message | None) -> bool:
    return after is None or message.real_seq > after.real_seq
