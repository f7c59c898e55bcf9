"""The read-only web console: what happened and what waits, for people who may look and not act.

Wiring starts it inside the service, `perlica console serve` beside it. It reads the database by
read-only connections of its own and imports no client, gateway or actor: it could not act if it
wanted to. Everything it shows was protected before it was stored; here it is escaped besides.
"""

from perlica.console.parts import Health, PartStatus
from perlica.console.server import ConsoleServer, start_console
from perlica.console.settings import ConsoleSettings

__all__ = ["ConsoleServer", "ConsoleSettings", "Health", "PartStatus", "start_console"]
