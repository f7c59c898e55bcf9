"""A real database for each test that needs rows, and a service that thinks with a runtime."""

from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from perlica.app import runtimes
from perlica.demo.napcat import NapCatStandIn
from perlica.runtimes.names import RuntimeName
from perlica.stores.database import Database
from perlica.stores.migrations import check_target, migrate
from tests.behaviour.live import LivePerlica, live_config
from tests.session.outside_runtime import OutsideRuntime
from tests.session.words import GROUP, SELF

MakeService = Callable[..., LivePerlica]


@pytest.fixture
def path(tmp_path: Path) -> Path:
    """A migrated database that belongs to the group."""
    file = tmp_path / "state" / "perlica.sqlite3"
    migrate(file)
    with Database.open(file) as fresh:
        check_target(fresh, GROUP, SELF)
    return file


@pytest.fixture
def napcat() -> Iterator[NapCatStandIn]:
    """The invented QQ."""
    with NapCatStandIn() as stand_in:
        yield stand_in


@pytest.fixture
def runtime(monkeypatch: pytest.MonkeyPatch) -> OutsideRuntime:
    """The runtime that every service of the test thinks with."""
    outside = OutsideRuntime()
    monkeypatch.setitem(
        runtimes.BUILDERS,
        RuntimeName.native,
        lambda _config, _secrets: outside,
    )
    return outside


@pytest.fixture
def make_service(
    tmp_path: Path, napcat: NapCatStandIn, runtime: OutsideRuntime
) -> Iterator[MakeService]:
    """Start services that think with the runtime; each is stopped at the end."""
    made: list[LivePerlica] = []

    def make(task: str = "") -> LivePerlica:
        extra = f"[task]\n{task}\n" if task else ""
        config = live_config(tmp_path, napcat, "http://127.0.0.1:1/v1", extra)
        made.append(LivePerlica(config=config).start())
        napcat.wait_for_connection()
        return made[-1]

    yield make
    for service in made:
        service.stop()
