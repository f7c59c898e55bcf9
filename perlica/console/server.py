"""The console as something that is started and stopped.

Wiring starts it inside the service, `perlica console serve` beside it. Whatever happens to it, the
service goes on.
"""

import logging
import socket
import threading
from pathlib import Path
from typing import Self

from perlica.console.application import Console
from perlica.console.http import STOP_WITHIN_S, HttpServer
from perlica.console.middleware import guarded
from perlica.console.reader import Reader
from perlica.console.settings import ConsoleSettings
from perlica.domain.errors import Misconfigured

_log = logging.getLogger(__name__)


class ConsoleServer:
    """A listening console; made by `start_console`."""

    def __init__(self, settings: ConsoleSettings, database_path: Path) -> None:
        """Bind the address. Raises: Misconfigured when that is not possible."""
        self._settings = settings
        reader = Reader(database_path)
        self._server = HttpServer(settings, reader)
        self._bind()
        origins = settings.origins(self.port)
        console = Console(settings, reader, origins)
        self._server.wsgi_app = guarded(console.app, settings, origins)
        self._thread = threading.Thread(target=self._server.serve, name="console", daemon=True)

    @property
    def port(self) -> int:
        """The port it listens on."""
        return int(self._server.bind_addr[1])

    @property
    def url(self) -> str:
        """Where a person finds it."""
        return self._settings.public_url or f"http://{self._settings.host}:{self.port}"

    @property
    def is_alive(self) -> bool:
        """Whether it still answers."""
        return self._thread.is_alive()

    def start(self) -> Self:
        """Answer from now on."""
        self._thread.start()
        _log.info("the console listens on %s port %d", self._settings.host, self.port)
        return self

    def stop(self) -> None:
        """Stop answering; open requests get a few seconds."""
        self._server.stop()
        self._thread.join(STOP_WITHIN_S)

    def _bind(self) -> None:
        family = socket.AF_INET6 if ":" in self._settings.host else socket.AF_INET
        address = (self._settings.host, self._settings.port)
        try:
            # Cheroot leaves its socket open where it cannot bind; so it is tried here first.
            with socket.create_server(address, family=family):
                pass
            self._server.prepare()
        except OSError as error:
            raise Misconfigured(
                "console_unusable",
                f"the console cannot listen on {self._settings.host}:{self._settings.port}",
                remedy="set another console.listen, or stop what listens there",
            ) from error


def start_console(settings: ConsoleSettings, database_path: Path) -> ConsoleServer:
    """Start a console on the migrated database at `database_path`; end it with `stop`.

    Raises: Misconfigured when the address cannot be listened on.
    """
    return ConsoleServer(settings, database_path).start()
