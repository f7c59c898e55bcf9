"""Other people's clients: installed when CI asks for them, otherwise skipped with what to run."""

import os
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from perlica.demo.napcat import NapCatStandIn, Settings
from tests.peers import install

_IN_CI = os.environ.get("CI") == "true"


def _have(find: Callable[[], Path | None], make: Callable[[], Path]) -> Path:
    found = find()
    if found is None and not _IN_CI:
        pytest.skip("not installed: run 'python -m tests.peers.install'")
    return found or make()


@pytest.fixture(scope="session")
def node_client() -> Path:
    return _have(install.find_node_client, install.install_node_client)


@pytest.fixture(scope="session")
def nonebot_python() -> Path:
    return _have(install.find_nonebot, install.install_nonebot)


@pytest.fixture
def napcat() -> Iterator[NapCatStandIn]:
    with NapCatStandIn(settings=Settings(heartbeat_interval_ms=200)) as started:
        yield started
