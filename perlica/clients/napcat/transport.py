"""Ways to an established WebSocket with NapCat; the link asks for one after another.

`dial` connects to NapCat, `listen` waits for NapCat to connect to us.
"""

from typing import Protocol

from perlica.clients.napcat.wire import Wire
from perlica.domain.errors import Retryable


class Unreachable(Retryable):
    """No WebSocket came about; `code` says at which step."""


class Transport(Protocol):
    """Opens one WebSocket after another."""

    @property
    def waits_for_peer(self) -> bool:
        """Whether `open` waits for the other side, so that asking again needs no backoff."""
        ...

    def open(self) -> Wire:
        """A new connection; one thread calls this.

        Raises: Unreachable when there is none now.
        """
        ...

    def abort(self) -> None:
        """From any thread, once: `open` ends now and opens nothing any more."""
        ...


def unreachable(step: str, error: BaseException | None = None) -> Unreachable:
    """An error that names the step and the kind of failure, and quotes nobody."""
    kind = type(error).__name__ if error is not None else "no connection"
    return Unreachable(f"napcat_{step}", f"NapCat cannot be reached ({step}: {kind})")
