"""SIGUSR1 prints what every thread is doing, into the protected log, without any value."""

import io
import json
import logging
import os
import signal
import threading
from collections.abc import Iterator
from typing import Any

import pytest

from perlica.app.logs import LineFormatter
from perlica.health import install_stack_printer, log_stacks

SECRET = "canary-value-of-a-local-variable"


@pytest.fixture
def log() -> Iterator[io.StringIO]:
    """Finished lines of the protected log."""
    stream = io.StringIO()
    handler = logging.StreamHandler(stream)
    handler.setFormatter(LineFormatter())
    logger = logging.getLogger("perlica.health")
    logger.addHandler(handler)
    yield stream
    logger.removeHandler(handler)


@pytest.fixture
def waiting() -> Iterator[threading.Thread]:
    """A thread that waits in a function with a telling name."""
    begun, done = threading.Event(), threading.Event()

    def wait_in_a_telling_place(secret: str) -> None:
        begun.set()
        done.wait(30)
        del secret

    thread = threading.Thread(target=wait_in_a_telling_place, args=(SECRET,), name="telling")
    thread.start()
    begun.wait(5)
    yield thread
    done.set()
    thread.join()


def lines_of(log: io.StringIO) -> list[dict[str, Any]]:
    return [json.loads(line) for line in log.getvalue().splitlines()]


def test_each_other_thread_has_a_line_with_its_frames(
    log: io.StringIO, waiting: threading.Thread
) -> None:
    log_stacks()

    (line,) = [line for line in lines_of(log) if f"of thread {waiting.name}" in line["event"]]
    (error,) = line["errors"]
    assert any("wait_in_a_telling_place" in frame for frame in error["frames"])
    assert SECRET not in log.getvalue()


def test_two_prints_are_told_apart(log: io.StringIO, waiting: threading.Thread) -> None:
    log_stacks()
    log_stacks()

    events = {line["event"] for line in lines_of(log) if waiting.name in line["event"]}
    assert len(events) == 2


def test_the_signal_prints_the_main_thread_too(log: io.StringIO) -> None:
    before = signal.getsignal(signal.SIGUSR1)
    try:
        install_stack_printer()
        os.kill(os.getpid(), signal.SIGUSR1)
        for thread in threading.enumerate():
            if thread.name == "perlica-stacks":
                thread.join(5)
    finally:
        signal.signal(signal.SIGUSR1, before)

    assert any("of thread MainThread" in line["event"] for line in lines_of(log))
