"""The checks, in the order in which they are tried."""

from gate.bench import Bench
from gate.checks import (
    cluster,
    conflicts,
    egress,
    image,
    isolation,
    limits,
    power,
    restarts,
    rootfs,
)
from gate.lines import Check

ALL: tuple[Check[Bench], ...] = (
    *image.CHECKS,
    *rootfs.CHECKS,
    *restarts.CHECKS,
    *conflicts.CHECKS,
    *isolation.CHECKS,
    *egress.CHECKS,
    *limits.CHECKS,
    *power.CHECKS,
    *cluster.CHECKS,
)
