"""A OneBot client for the tests of the stand-in: plain websocket-client, nothing of Perlica."""

import json
import socket
from types import TracebackType
from typing import Any, Self

import websocket

from perlica.demo.napcat.server import NapCatServer

ANSWER_WITHIN_S = 5.0
NO_STATUS = 1005
Json = Any
"""Decoded JSON, which tests look into freely."""


class Peer:
    """One connection; `call` answers with the frames up to and including a barrier."""

    def __init__(
        self,
        napcat: NapCatServer,
        *,
        target: str = "/",
        token: str | None = None,
        bare: bool = False,
    ) -> None:
        """Connect with the right token in the header, unless `token` or `bare` says otherwise."""
        given = napcat.token if token is None else token
        value = given if bare else f"Bearer {given}"
        self.socket = websocket.create_connection(
            f"ws://127.0.0.1:{napcat.port}{target}",
            header=[f"Authorization: {value}"] if given else [],
            suppress_origin=True,
            redirect_limit=0,
            socket=socket.create_connection(("127.0.0.1", napcat.port), ANSWER_WITHIN_S),
        )
        self.socket.settimeout(ANSWER_WITHIN_S)
        self._barriers = 0

    def __enter__(self) -> Self:
        """Stay connected for the block."""
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        """Hang up at once."""
        self.socket.shutdown()  # type: ignore[no-untyped-call]  # websocket-client is typed in part

    def send(self, text: str) -> None:
        """Send one text frame."""
        self.socket.send(text)

    def frame(self) -> Json:
        """The next frame as JSON."""
        return json.loads(self.text())

    def text(self) -> str:
        """The next frame as text; an AssertionError when it is a close frame."""
        opcode, payload = self.socket.recv_data(control_frame=True)
        assert opcode == websocket.ABNF.OPCODE_TEXT, (opcode, payload)
        return str(payload, "utf-8")

    def close_code(self) -> int:
        """The code of the close frame that comes next; 1005 when it is empty."""
        opcode, payload = self.socket.recv_data(control_frame=True)
        assert opcode == websocket.ABNF.OPCODE_CLOSE, (opcode, payload)
        return int.from_bytes(payload[:2], "big") if payload else NO_STATUS

    def frames_so_far(self) -> list[Json]:
        """Every frame that came before the answer to a call made now, which is left out."""
        self._barriers += 1
        echo = f"barrier-{self._barriers}"
        self.send(json.dumps({"action": "get_status", "echo": echo}))
        frames = []
        while (frame := self.frame()).get("echo") != echo:
            frames.append(frame)
        return frames

    def call(self, action: str, params: object = None, *, echo: object = "e") -> list[Json]:
        """Make a call; all frames that come until everything it caused is out."""
        self.send(json.dumps({"action": action, "params": params or {}, "echo": echo}))
        return self.frames_so_far()

    def answer(self, action: str, params: object = None, *, echo: object = "e") -> Json:
        """Make a call; its answer alone."""
        frames = self.call(action, params, echo=echo)
        return next(frame for frame in frames if frame.get("echo") == echo)
