"""A stand-in NapCat for each test, and the check that nothing is left running."""

import threading
from collections.abc import Iterator
from pathlib import Path

import pytest

from perlica.demo.napcat import NapCatStandIn, Settings
from tests.model.conftest import tls
from tests.napcat.rig import Service, eventually, no_actors_left

__all__ = ["tls"]


@pytest.fixture
def napcat() -> Iterator[NapCatStandIn]:
    with NapCatStandIn(settings=Settings(heartbeat_interval_ms=200)) as started:
        yield started


@pytest.fixture
def service(napcat: NapCatStandIn, tmp_path: Path) -> Iterator[Service]:
    with Service(napcat, tmp_path / "state" / "perlica.sqlite3") as started:
        yield started


@pytest.fixture(autouse=True)
def _nothing_left() -> Iterator[None]:
    with no_actors_left():
        yield
    eventually(lambda: not [t for t in threading.enumerate() if t.name.startswith("perlica-")], 5)
