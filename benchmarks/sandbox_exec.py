"""What one command in a sandbox costs over a bare `crun exec` in the same container."""

import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

from perlica.app.demo.layout import DemoPaths
from perlica.app.demo.stage import Stage, why_no_sandboxes
from perlica.clients.sandboxd import SandboxdClient, SandboxdSettings
from perlica.domain.cancel import CancelToken
from perlica.domain.ids import SandboxName, new_operation_id
from perlica.domain.sandbox import BackendSandbox, Command, SandboxLimits, SandboxSpec

ROUNDS = 60
_WARM_UP = 5
_BARE = """
import os, statistics, subprocess, sys, time
runtime, rounds = sys.argv[1], int(sys.argv[2])
container = next(name for name in os.listdir(runtime) if os.path.isdir(f"{runtime}/{name}"))
words = ["crun", "--root", runtime, "exec", container, "/bin/true"]
took = []
for _ in range(rounds):
    began = time.perf_counter()
    subprocess.run(words, check=True, input=b"", capture_output=True)
    took.append((time.perf_counter() - began) * 1000)
print(statistics.median(took[5:]))
"""
_LIMITS = SandboxLimits(
    memory_bytes=256 * 2**20, pids=64, cpu_millis=1000, disk_bytes=336 * 2**20, nofile=256
)


def rows() -> list[dict[str, object]]:
    """The overhead as a ratio."""
    obstacle = why_no_sandboxes()
    if obstacle is not None:
        return [{"name": "sandbox_exec_overhead", "unit": "ms", "why": obstacle}]
    with tempfile.TemporaryDirectory(prefix="perlica-bench-") as directory:
        stage = Stage(paths=DemoPaths(root=Path(directory)), with_sandboxes=True)
        try:
            stage.start()
            return [_measure(stage)]
        finally:
            stage.stop()


def _measure(stage: Stage) -> dict[str, object]:
    client = SandboxdClient(SandboxdSettings(socket_path=stage.paths.socket, epoch=1))
    spec = SandboxSpec(name=SandboxName("bench"), purpose="bench", node="demo-node", limits=_LIMITS)
    box = client.create(new_operation_id(), spec, client.current_image()[0])
    try:
        took = [_time(lambda: _exec(client, box)) for _ in range(ROUNDS + _WARM_UP)][_WARM_UP:]
        bare = _bare_median_ms(stage)
    finally:
        client.delete(new_operation_id(), box.name, box.instance)
    ours = statistics.median(took)
    return {
        "name": "sandbox_exec_overhead",
        "value": round(ours, 2),
        "unit": "ms",
        "peer_or_floor": round(bare, 2),
        "ratio": round(ours / bare, 2),
    }


def _exec(client: SandboxdClient, box: BackendSandbox) -> None:
    client.execute(
        new_operation_id(),
        name=box.name,
        instance=box.instance,
        action=Command(argv=("/bin/true",)),
        cancel=CancelToken(),
    )


def _bare_median_ms(stage: Stage) -> float:
    """`crun exec` of the same command in the same container, from inside the daemon's mounts."""
    if stage.sandboxd is None:
        raise RuntimeError("this stage has no sandboxd")
    runtime = stage.paths.sandboxd_run / "runtime"
    words = ["nsenter", "-t", str(stage.sandboxd.pid), "-m", sys.executable, "-c", _BARE]
    done = subprocess.run(
        [*words, str(runtime), str(ROUNDS)], capture_output=True, text=True, check=True
    )
    return float(done.stdout)


def _time(work: Callable[[], None]) -> float:
    began = time.perf_counter()
    work()
    return (time.perf_counter() - began) * 1000
