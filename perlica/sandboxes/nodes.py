"""The nodes of this service: one backend for each, and a sandbox stays on its own for life.

Wiring makes it from the configuration; the serializer's workers and the node watch ask it.
"""

from collections.abc import Mapping
from dataclasses import dataclass

from perlica.domain.errors import Misconfigured
from perlica.sandboxes.contract import SandboxBackend


@dataclass(frozen=True, slots=True)
class Nodes:
    """Backends by node name, in the order of the configuration."""

    backends: Mapping[str, SandboxBackend]

    @property
    def names(self) -> tuple[str, ...]:
        """The configured nodes, the first one first."""
        return tuple(self.backends)

    def of(self, node: str) -> SandboxBackend:
        """The backend of a node. Raises: Misconfigured when the configuration has no such node."""
        backend = self.backends.get(node)
        if backend is None:
            raise Misconfigured(
                "node_not_configured",
                f"node {node} is not in the configuration",
                remedy="put it back into [sandbox], or let an Owner write it off",
            )
        return backend
