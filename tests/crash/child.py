"""The service as a child of the nursery: the real one, with points to be killed at.

Everything of it is real but the sandbox backend, whose effects have to survive the process.
"""

import logging
import os
import signal
import sys
import threading
from dataclasses import dataclass
from pathlib import Path

from perlica.app.config import parse_config
from tests.behaviour.live import LivePerlica
from tests.crash.far_backend import FarBackend
from tests.crash.points import Point, Tracer


@dataclass(frozen=True, slots=True, kw_only=True)
class Order:
    """What to run: plain values, for they travel as JSON."""

    config: str
    backend: str
    log: str
    journal: str = ""
    fatal_label: str = ""
    fatal_ordinal: int = 0


def serve(order: Order) -> int:
    """Run until SIGTERM, until an actor dies, or until the fatal point; the exit code."""
    _redirect(order.log)
    tracer = Tracer(
        journal=Path(order.journal) if order.journal else None,
        fatal=Point(order.fatal_label, order.fatal_ordinal) if order.fatal_label else None,
    )
    tracer.install()
    live = LivePerlica(
        config=parse_config(order.config),
        backend=FarBackend(Path(order.backend), tracer.around),
    )
    stop = threading.Event()
    signal.signal(signal.SIGTERM, lambda *_: stop.set())
    live.start()
    while not stop.wait(0.05):
        if live.exit_codes:
            return live.exit_codes[0]
    return 0 if live.stop() else 75


def _redirect(log: str) -> None:
    """What the service prints goes to the log of its run; the nursery's pipe is not its."""
    descriptor = os.open(log, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o600)
    for number in (1, 2):
        os.dup2(descriptor, number)
    os.close(descriptor)
    null = os.open(os.devnull, os.O_RDONLY)
    os.dup2(null, 0)
    os.close(null)
    logging.basicConfig(
        stream=sys.stderr, level=logging.INFO, format="%(asctime)s %(name)s %(message)s"
    )
