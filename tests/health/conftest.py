"""A database, a health server over it on loopback, and what Prometheus would read there."""

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path

import pytest
import requests
from prometheus_client.parser import text_string_to_metric_families

from perlica.health import HealthFacts, HealthServer, HealthSettings, start_health
from perlica.stores.database import Database
from perlica.stores.migrations import check_target, migrate
from tests.stores.rows import GROUP, SELF

PATIENCE_S = 5
EAGER_S = 0.0


@dataclass(slots=True)
class Process:
    """What the facts say, for a test to change."""

    fault: str = ""
    actors: dict[str, bool] = field(default_factory=lambda: {"coordinator": True, "outbox": True})
    queues: dict[str, int] = field(default_factory=dict)
    dropped: dict[str, int] = field(default_factory=dict)

    def facts(self) -> HealthFacts:
        return HealthFacts(
            connection_fault=lambda: self.fault,
            actors=lambda: dict(self.actors),
            queues=lambda: dict(self.queues),
            dropped=lambda: dict(self.dropped),
            versions={"version": "0.1.0", "schema": "7", "config": "abcdef012345", "policy": "1"},
        )


@dataclass(frozen=True, slots=True)
class Site:
    """A running server, and its database."""

    server: HealthServer
    path: Path
    process: Process

    def get(self, path: str, method: str = "GET", **kept: object) -> requests.Response:
        host, port = self.server.address
        return requests.request(method, f"http://{host}:{port}{path}", timeout=PATIENCE_S, **kept)  # type: ignore[arg-type]

    def samples(self) -> Mapping[str, float]:
        """Every sample as `name{label="value"}`."""
        answer = self.get("/metrics")
        assert answer.status_code == 200
        return {
            _spell(sample.name, sample.labels): sample.value
            for family in text_string_to_metric_families(answer.text)
            for sample in family.samples
        }


def _spell(name: str, labels: Mapping[str, str]) -> str:
    inside = ",".join(f'{key}="{value}"' for key, value in sorted(labels.items()))
    return f"{name}{{{inside}}}" if inside else name


@pytest.fixture
def path(tmp_path: Path) -> Path:
    file = tmp_path / "state" / "perlica.db"
    migrate(file)
    with Database.open(file) as fresh:
        check_target(fresh, GROUP, SELF)
    return file


@pytest.fixture
def db(path: Path) -> Iterator[Database]:
    with Database.open(path) as opened:
        yield opened


MakeSite = Callable[..., Site]


@pytest.fixture
def make_site(path: Path, tmp_path: Path) -> Iterator[MakeSite]:
    """Start servers, by default ones that look anew at each request."""
    servers: list[HealthServer] = []

    def make(*, figures_every_s: float = EAGER_S, port: int = 0) -> Site:
        process = Process()
        settings = HealthSettings(
            host="127.0.0.1",
            port=port,
            backups=tmp_path / "backups",
            min_free_bytes=1024,
            figures_every_s=figures_every_s,
            readiness_every_s=EAGER_S,
        )
        server = start_health(settings, path, process.facts())
        servers.append(server)
        return Site(server, path, process)

    yield make
    ended = [server.stop() for server in servers]
    assert all(ended)


@pytest.fixture
def site(make_site: MakeSite) -> Site:
    return make_site()
