"""The harness's backend keeps the contract of sandbox backends, over its socket."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.contract import test_sandbox_backend as contract
from tests.contract.conftest import Node
from tests.crash.far_backend import BackendServer, FarBackend

for _name in dir(contract):
    if _name.startswith("test_"):
        globals()[_name] = getattr(contract, _name)


@pytest.fixture
def node(tmp_path: Path) -> Iterator[Node]:
    """A node behind a socket."""
    with BackendServer(tmp_path / "node.sock") as server:
        backend = FarBackend(server.path)
        yield Node(backend, backend.current_image()[0])
