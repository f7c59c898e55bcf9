"""Both backends behind one contract: the one in memory and the real node daemon."""

from collections.abc import Iterator

import pytest

from perlica.clients.sandboxd import SandboxdClient, SandboxdSettings
from perlica.domain.cancel import CancelToken
from perlica.domain.ids import OperationId, SandboxName, new_operation_id
from perlica.domain.sandbox import Action, ActionOutcome, BackendSandbox, SandboxLimits, SandboxSpec
from perlica.sandboxes.contract import SandboxBackend
from perlica.sandboxes.memory import MemoryBackend
from tests.sandboxd.conftest import _daemon, daemon, layout, needs_node
from tests.sandboxd.process import Daemon

__all__ = ["_daemon", "daemon", "layout", "needs_node"]

_LIMITS = SandboxLimits(
    memory_bytes=256 * 2**20, pids=64, cpu_millis=1000, disk_bytes=336 * 2**20, nofile=256
)


class Node:
    """A backend with one image, and short words for what tests do with it."""

    def __init__(self, backend: SandboxBackend, image_digest: str) -> None:
        self.backend = backend
        self.image_digest = image_digest

    def create(
        self, name: str = "contract", operation: OperationId | None = None
    ) -> BackendSandbox:
        """A new sandbox."""
        spec = SandboxSpec(
            name=SandboxName(name), purpose="contract", node="test-node", limits=_LIMITS
        )
        return self.backend.create(operation or new_operation_id(), spec, self.image_digest)

    def do(
        self,
        sandbox: BackendSandbox,
        action: Action,
        *,
        operation: OperationId | None = None,
        cancel: CancelToken | None = None,
    ) -> ActionOutcome:
        """An action inside it."""
        return self.backend.execute(
            operation or new_operation_id(),
            name=sandbox.name,
            instance=sandbox.instance,
            action=action,
            cancel=cancel or CancelToken(),
        )

    def delete_all(self) -> None:
        """Leave nothing."""
        for sandbox in self.backend.reconcile():
            self.backend.delete(new_operation_id(), sandbox.name, sandbox.instance)


@pytest.fixture(params=["memory", pytest.param("sandboxd", marks=pytest.mark.root)])
def node(request: pytest.FixtureRequest) -> Iterator[Node]:
    """Each test runs once with each backend."""
    if request.param == "memory":
        memory = MemoryBackend()
        yield Node(memory, memory.image_digests[0])
        return
    real: Daemon = request.getfixturevalue("daemon")
    backend = SandboxdClient(SandboxdSettings(socket_path=real.socket, epoch=1, node="test-node"))
    made = Node(backend, backend.current_image()[0])
    yield made
    made.delete_all()
