"""What looks at the running service from outside: the console and the health server.

Started after the actors and stopped before them; neither can act on anything.
"""

from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import asdict
from pathlib import Path

from actors.base import Wires
from perlica.app.config import Config
from perlica.app.console import console_settings
from perlica.app.layout import backups_path
from perlica.app.secrets import Secrets
from perlica.app.supervision import Supervisor
from perlica.clients.napcat import InboundQueue
from perlica.console import start_console
from perlica.health import HealthFacts, HealthSettings, start_health


@contextmanager
def outlets(
    config: Config,
    secrets: Secrets,
    *,
    database_path: Path,
    facts: HealthFacts,
) -> Iterator[None]:
    """Run what the configuration asks for while the block runs.

    Raises: Misconfigured when an address cannot be listened on.
    """
    with ExitStack() as stack:
        console = console_settings(
            config, secrets.console_proxy, connection_fault=facts.connection_fault
        )
        if console is not None:
            stack.callback(start_console(console, database_path).stop)
        health = health_settings(config)
        if health is not None:
            stack.callback(start_health(health, database_path, facts).stop)
        yield


def health_settings(config: Config) -> HealthSettings | None:
    """What `start_health` needs; None where no health server is configured."""
    listen = config.health.listen
    if listen is None:
        return None
    host, _, port = listen.rpartition(":")
    return HealthSettings(
        host=host.strip("[]"),
        port=int(port),
        backups=backups_path(config.service.state_dir),
        min_free_bytes=config.retention.min_free_bytes,
    )


def health_facts(
    wires: Wires, supervisor: Supervisor, inbound: InboundQueue, versions: dict[str, str]
) -> HealthFacts:
    """What the health server is told of the running parts."""
    return HealthFacts(
        connection_fault=lambda: wires.connection_fault,
        database_fault=lambda: wires.database_fault,
        actors=supervisor.alive,
        queues=lambda: {"inbound": inbound.waiting_frames, **supervisor.inboxes()},
        dropped=lambda: asdict(inbound.dropped),
        versions=versions,
    )
