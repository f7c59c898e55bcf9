"""Runs a piece of the gate in a child with a mount namespace of its own.

Whatever it mounts ends with it, also when it is killed, and no daemon ever holds a copy of it.
The result comes back as JSON; a child that takes too long is killed with all it started.
"""

import json
import os
import select
import signal
import time
from collections.abc import Callable
from typing import Any, NoReturn

from gate.lines import Broken, NotRun
from sandboxd import _native

_CHUNK_BYTES = 65536


def run_in_chamber(work: Callable[[], Any], *, within_s: float) -> Any:  # noqa: ANN401 (JSON)
    """What `work` returns, which must fit into JSON. Raises: Broken, NotRun as `work` did."""
    ours, theirs = os.pipe()
    child = os.fork()
    if child == 0:
        os.close(ours)
        _be_the_child(work, theirs)
    os.close(theirs)
    try:
        raw = _read_all(ours, within_s)
    finally:
        os.close(ours)
        _end(child)
    if raw is None:
        raise Broken(f"it did not end within {within_s:.0f} s")
    if not raw:
        raise Broken("the process that tried it died")
    answer = json.loads(raw)
    if "broken" in answer:
        raise Broken(answer["broken"])
    if "not_run" in answer:
        raise NotRun(answer["not_run"])
    return answer["result"]


def spawn_writer(work: Callable[[int], None]) -> tuple[int, int]:
    """A child that runs `work` with a pipe to tell by. Returns its pid and the pipe's other end."""
    ours, theirs = os.pipe()
    child = os.fork()
    if child == 0:
        try:
            os.close(ours)
            _native.die_with_parent(signal.SIGKILL)
            work(theirs)
        finally:
            os._exit(0)
    os.close(theirs)
    return child, ours


def end_writer(child: int) -> None:
    """Kills it and waits for its end."""
    os.kill(child, signal.SIGKILL)
    os.waitpid(child, 0)


def _be_the_child(work: Callable[[], Any], pipe: int) -> NoReturn:
    answer: dict[str, Any] = {}
    try:
        os.setpgid(0, 0)
        _native.die_with_parent(signal.SIGKILL)
        _native.unshare(_native.CLONE_NEWNS)
        _native.make_all_private()
        answer = {"result": work()}
    except NotRun as reason:
        answer = {"not_run": str(reason)}
    except BaseException as error:  # noqa: BLE001 (the parent says it)
        answer = {"broken": str(error) if isinstance(error, Broken) else repr(error)}
    finally:
        raw = json.dumps(answer).encode("utf-8")
        while raw:
            raw = raw[os.write(pipe, raw) :]
        os._exit(0)


def _read_all(pipe: int, within_s: float) -> bytes | None:
    deadline = time.monotonic() + within_s
    poller = select.poll()
    poller.register(pipe, select.POLLIN)
    raw = b""
    while (left := deadline - time.monotonic()) > 0:
        if not poller.poll(left * 1000):
            return None
        chunk = os.read(pipe, _CHUNK_BYTES)
        if not chunk:
            return raw
        raw += chunk
    return None


def _end(child: int) -> None:
    """The child's group holds everything that it started."""
    try:
        os.killpg(child, signal.SIGKILL)
    except ProcessLookupError:
        os.kill(child, signal.SIGKILL)  # It is at least a zombie, so the number is still its own.
    os.waitpid(child, 0)
