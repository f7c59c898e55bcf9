"""The service as a person meets it: demo time, idle memory, the way of a mention to the model.

Each figure stands beside a floor from the same run: a bare Python, or a bare socket and request.
"""

import json
import os
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import requests
import websocket

from perlica.app.demo.layout import DemoPaths
from perlica.app.demo.processes import python_module
from perlica.app.demo.stage import Stage, why_no_sandboxes
from perlica.demo.model import Reply, ScriptedModel
from perlica.demo.napcat import NapCatStandIn

DEMO_TARGET_S = 60
MEMORY_TARGET_MIB = 150
REACTION_TARGET_MS = 30
ROUNDS = 60
SETTLE_S = 3.0
_KIB_IN_MIB = 1024


def rows() -> list[dict[str, object]]:
    """All figures of the whole service."""
    return [_demo(), _idle_memory(), _reaction()]


def _demo() -> dict[str, object]:
    """`make demo SCRIPT=1` after set-up, on a fresh state."""
    name = {"name": "demo_seconds", "unit": "s"}
    obstacle = why_no_sandboxes()
    if obstacle is not None:
        return {**name, "why": obstacle}
    with tempfile.TemporaryDirectory(prefix="perlica-bench-") as directory:
        report = Path(directory) / "demo.json"
        words = ["perlica.app.demo", "--script", "--state", f"{directory}/state"]
        done = subprocess.run(
            python_module(*words, "--report", str(report)),
            capture_output=True,
            text=True,
            check=False,
        )
        if done.returncode != 0:
            return {**name, "why": f"the demo failed: {done.stderr.strip().splitlines()[-1]}"}
        seconds = json.loads(report.read_text())["seconds"]
    return {**name, "value": seconds, "target": DEMO_TARGET_S, "met": seconds <= DEMO_TARGET_S}


def _idle_memory() -> dict[str, object]:
    """Resident memory of perlica and sandboxd at rest, against a Python that does nothing."""
    with tempfile.TemporaryDirectory(prefix="perlica-bench-") as directory:
        with_sandboxes = why_no_sandboxes() is None
        stage = Stage(paths=DemoPaths(root=Path(directory)), with_sandboxes=with_sandboxes)
        try:
            stage.start()
            time.sleep(SETTLE_S)
            pids = [stage.perlica.pid]
            if stage.sandboxd is not None:
                pids.append(stage.sandboxd.pid)
            used = sum(_resident_mib(pid) for pid in pids)
        finally:
            stage.stop()
    if not with_sandboxes:
        return {"name": "idle_memory_mib", "unit": "MiB", "why": "sandboxd needs root"}
    floor = _bare_python_mib()
    return {
        "name": "idle_memory_mib",
        "value": round(used, 1),
        "unit": "MiB",
        "peer_or_floor": round(2 * floor, 1),
        "ratio": round(used / (2 * floor), 2),
        "target": MEMORY_TARGET_MIB,
        "met": used < MEMORY_TARGET_MIB,
    }


def _reaction() -> dict[str, object]:
    """Median time from the event on the wire to the first byte of the model's request."""
    with tempfile.TemporaryDirectory(prefix="perlica-bench-") as directory:
        took_ms = list(_reactions(Path(directory)))
    with ScriptedModel(afterwards=Reply(text="好")) as model, NapCatStandIn() as napcat:
        floor_ms = statistics.median(_bare_reactions(napcat, model))
    median = statistics.median(took_ms)
    return {
        "name": "event_to_model_request_ms",
        "value": round(median, 1),
        "unit": "ms",
        "peer_or_floor": round(floor_ms, 2),
        "ratio": round(median / floor_ms, 2),
        "target": REACTION_TARGET_MS,
        "met": median < REACTION_TARGET_MS,
    }


def _reactions(directory: Path) -> Iterator[float]:
    with ScriptedModel(afterwards=Reply(text="好")) as model:
        stage = Stage(
            paths=DemoPaths(root=directory),
            with_sandboxes=False,
            model_url=model.base_url,
            model_name="scripted-1",
        )
        try:
            stage.start()
            owner = 30001
            for number in range(1, ROUNDS + 1):
                began = time.perf_counter()
                asked = stage.napcat.say(owner, "你好", mention=True)
                model.wait_for_request(number)
                yield (time.perf_counter() - began) * 1000
                stage.napcat.wait_for_reply(after=asked)
        finally:
            stage.stop()


def _bare_reactions(napcat: NapCatStandIn, model: ScriptedModel) -> Iterator[float]:
    """The floor: the same frame over a bare socket, the same request sent at once."""
    header = [f"Authorization: Bearer {napcat.token}"]
    body = {"model": "scripted-1", "stream": True, "messages": [{"role": "user", "content": "好"}]}
    with _connected(napcat.url, header) as socket, requests.Session() as session:
        session.trust_env = False
        socket.recv()
        for number in range(1, ROUNDS + 1):
            began = time.perf_counter()
            napcat.say(30001, "你好", mention=True)
            json.loads(socket.recv())
            answer = session.post(f"{model.base_url}/chat/completions", json=body, timeout=10)
            model.wait_for_request(number)
            yield (time.perf_counter() - began) * 1000
            answer.close()


@contextmanager
def _connected(url: str, header: list[str]) -> Iterator[websocket.WebSocket]:
    socket = websocket.create_connection(url, header=header, timeout=10, redirect_limit=0)
    try:
        yield socket
    finally:
        socket.close()


def _resident_mib(pid: int) -> float:
    for line in Path(f"/proc/{pid}/status").read_text().splitlines():
        if line.startswith("VmRSS:"):
            return int(line.split()[1]) / _KIB_IN_MIB
    raise OSError(f"process {pid} has no memory")


def _bare_python_mib() -> float:
    """Resident memory of an interpreter that only waits."""
    command = [sys.executable, "-c", "input()"]
    with subprocess.Popen(command, stdin=subprocess.PIPE, env={**os.environ}) as child:
        time.sleep(0.3)
        used = _resident_mib(child.pid)
        child.communicate(b"\n")
    return used
