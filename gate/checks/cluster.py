"""What only a cluster can show. It is named, and never counted as passed."""

from typing import NoReturn

from gate.bench import Bench
from gate.lines import Check, NotRun


def _needs_cluster(_: Bench) -> NoReturn:
    raise NotRun("needs a Kubernetes cluster with two nodes and a local volume")


def _needs_hardware(_: Bench) -> NoReturn:
    raise NotRun("needs a machine whose power can be cut; see power.cuts and power.flushes")


CHECKS: tuple[Check[Bench], ...] = (
    Check(
        key="cluster.read-write-once",
        claim="a second node cannot use a local volume that is bound to the first",
        run=_needs_cluster,
        may_be_missing=True,
    ),
    Check(
        key="cluster.node-lost",
        claim="a pod of sandboxd is not moved to another node when its node is lost",
        run=_needs_cluster,
        may_be_missing=True,
    ),
    Check(
        key="cluster.runtime-class",
        claim="the pod runs under the runtime class that the report names",
        run=_needs_cluster,
        may_be_missing=True,
    ),
    Check(
        key="power.hardware",
        claim="acknowledged changes survive when the machine's own power is cut",
        run=_needs_hardware,
        may_be_missing=True,
    ),
)
