"""A NapCat that dials: the stand-in's frames over a connection that it opens itself.

One socket goes to Perlica with NapCat's reverse headers, one to the stand-in; frames are passed on.
"""

import socket
import threading
from types import TracebackType
from typing import Self

import websocket

from perlica.demo.napcat import NapCatStandIn


def dial(port: int, headers: dict[str, str]) -> websocket.WebSocket:
    """Connect as NapCat's reverse client does (headers as measured)."""
    return websocket.create_connection(
        f"ws://127.0.0.1:{port}/",
        header=headers,
        suppress_origin=True,
        redirect_limit=0,
        socket=socket.create_connection(("127.0.0.1", port), 5),
    )


def reverse_headers(token: str, self_id: int) -> dict[str, str]:
    """What NapCat sends (measured)."""
    return {
        "X-Self-ID": str(self_id),
        "Authorization": f"Bearer {token}",
        "x-client-role": "Universal",
        "User-Agent": "OneBot/11",
    }


class ReverseNapCat:
    """Passes frames between the stand-in and Perlica until one of them hangs up."""

    def __init__(self, napcat: NapCatStandIn, port: int, *, token: str) -> None:
        self._inner = dial(napcat.port, {"Authorization": f"Bearer {napcat.token}"})
        self._outer = dial(port, reverse_headers(token, napcat.self_id))
        self._threads = [
            threading.Thread(target=self._pass_on, args=pair, name="test-bridge", daemon=True)
            for pair in ((self._inner, self._outer), (self._outer, self._inner))
        ]

    def __enter__(self) -> Self:
        for thread in self._threads:
            thread.start()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        for end in (self._inner, self._outer):
            end.abort()  # type: ignore[no-untyped-call]
        for thread in self._threads:
            thread.join(5)
        for end in (self._inner, self._outer):
            end.shutdown()  # type: ignore[no-untyped-call]

    def _pass_on(self, source: websocket.WebSocket, target: websocket.WebSocket) -> None:
        try:
            while True:
                opcode, frame = source.recv_data_frame(control_frame=True)
                if opcode == websocket.ABNF.OPCODE_CLOSE:
                    break
                if opcode == websocket.ABNF.OPCODE_TEXT:
                    target.send(frame.data.decode())
        except (OSError, websocket.WebSocketException):
            pass
        for end in (source, target):
            end.abort()  # type: ignore[no-untyped-call]
