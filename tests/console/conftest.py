"""A console on loopback over a real database, and people with and without a token."""

from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from perlica.console import ConsoleServer, ConsoleSettings, start_console
from perlica.gateway.known_actions import CATALOG
from tests.console.people import Person
from tests.console.seeder import make_database
from tests.console.seeding import Seeded, seed

StartConsole = Callable[..., ConsoleServer]


@pytest.fixture
def path(tmp_path: Path) -> Path:
    """A database with one viewer and nothing else."""
    return make_database(tmp_path / "state" / "perlica.db")


@pytest.fixture
def start(path: Path) -> Iterator[StartConsole]:
    """Start consoles on `path`; each is stopped at the end."""
    servers: list[ConsoleServer] = []

    def begin(**settings: object) -> ConsoleServer:
        server = start_console(ConsoleSettings(actions=CATALOG, **settings), path)  # type: ignore[arg-type]
        servers.append(server)
        return server

    yield begin
    for server in servers:
        server.stop()


@pytest.fixture
def console(start: StartConsole) -> ConsoleServer:
    return start()


@pytest.fixture
def stranger(console: ConsoleServer) -> Iterator[Person]:
    """Somebody without a login."""
    with Person(console) as person:
        yield person


@pytest.fixture
def viewer(stranger: Person) -> Person:
    """Somebody who is logged in."""
    stranger.log_in()
    return stranger


@pytest.fixture(scope="module")
def seeded(tmp_path_factory: pytest.TempPathFactory) -> Seeded:
    """A database that nobody in the module changes, with two weeks in it."""
    return seed(make_database(tmp_path_factory.mktemp("seeded") / "perlica.db"))


@pytest.fixture(scope="module")
def looking(seeded: Seeded) -> Iterator[Person]:
    """A viewer of the seeded database."""
    server = start_console(ConsoleSettings(actions=CATALOG), seeded.path)
    with Person(server) as person:
        person.log_in()
        yield person
    server.stop()
