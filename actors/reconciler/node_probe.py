"""Looks at nodes, each node in a thread of its own, so that one that hangs delays no other's looks.

Started by the reconciler, which takes the finished looks at its ticks.
"""

import queue
import threading
from collections.abc import Callable
from dataclasses import dataclass, field

from actors.base import Alarm
from perlica.domain.clock import monotonic_s
from perlica.domain.errors import PerlicaError
from perlica.sandboxes.contract import SandboxBackend
from perlica.sandboxes.node_loss import ClusterFault, ClusterReading
from perlica.sandboxes.node_watch import Look
from perlica.sandboxes.nodes import Nodes

ReadCluster = Callable[[str], ClusterReading | ClusterFault]
"""One read of a node at the Kubernetes API; never raises."""


@dataclass(slots=True, kw_only=True)
class NodeProbe:
    """Looks at once and then again after each period, until it is told to end."""

    node: str
    backend: SandboxBackend
    every_s: float
    looks: "queue.SimpleQueue[Look]"
    alarm: Alarm
    read_cluster: ReadCluster | None = None
    _ending: threading.Event = field(default_factory=threading.Event)

    def start(self) -> None:
        """Begin looking."""
        threading.Thread(target=self._run, name=f"look-{self.node}", daemon=True).start()

    def end(self) -> None:
        """Look no more; a look that hangs is left to the process."""
        self._ending.set()

    def _run(self) -> None:
        try:
            while not self._ending.is_set():
                self.looks.put(self._look())
                self._ending.wait(self.every_s)
        except Exception as error:  # noqa: BLE001 - a probe must not die unnoticed
            self.alarm.ring(f"look-{self.node}", error)

    def _look(self) -> Look:
        at_s = monotonic_s()
        cluster = None if self.read_cluster is None else self.read_cluster(self.node)
        try:
            survey = self.backend.survey()
        except PerlicaError as error:
            return Look(node=self.node, at_s=at_s, survey=None, fault=error.code, cluster=cluster)
        return Look(node=self.node, at_s=at_s, survey=survey, cluster=cluster)


def start_probes(
    nodes: Nodes,
    *,
    every_s: float,
    alarm: Alarm,
    read_cluster: ReadCluster | None = None,
) -> tuple["queue.SimpleQueue[Look]", tuple[NodeProbe, ...]]:
    """One probe for each node, started, and the queue that their looks come into."""
    looks: queue.SimpleQueue[Look] = queue.SimpleQueue()
    probes = tuple(
        NodeProbe(
            node=name,
            backend=backend,
            every_s=every_s,
            looks=looks,
            alarm=alarm,
            read_cluster=read_cluster,
        )
        for name, backend in nodes.backends.items()
    )
    for probe in probes:
        probe.start()
    return looks, probes
