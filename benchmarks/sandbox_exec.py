"""What a sandbox costs, held against bare `crun exec` and against podman on the same image.

All figures come from one run: create and first command, a command in a running sandbox, remount
after a stop, deletion, and the memory of the idle daemon. Last stands how busy the machine was: its
load of one minute beside its number of processors. Above that number everything waits for its turn.
"""

import json
import os
import shutil
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path

from benchmarks._podman import Podman, PodmanFigures, time_ms, why_no_podman
from perlica.clients.sandboxd import SandboxdClient, SandboxdSettings
from perlica.domain.cancel import CancelToken
from perlica.domain.ids import SandboxName, new_operation_id
from perlica.domain.sandbox import BackendSandbox, Command, SandboxLimits, SandboxSpec

_BATCHES, _BATCH = 6, 10
_LIFE_ROUNDS = 12
_START_WITHIN_S = 30.0
_BARE = """
import json, os, subprocess, sys, time
runtime, rounds = sys.argv[1], int(sys.argv[2])
container = next(name for name in os.listdir(runtime) if os.path.isdir(f"{runtime}/{name}"))
words = ["crun", "--root", runtime, "exec", container, "/bin/true"]
took = []
for _ in range(rounds):
    began = time.perf_counter()
    subprocess.run(words, check=True, input=b"", capture_output=True)
    took.append((time.perf_counter() - began) * 1000)
print(json.dumps(took))
"""
_LIMITS = SandboxLimits(
    memory_bytes=256 * 2**20, pids=64, cpu_millis=1000, disk_bytes=336 * 2**20, nofile=256
)
_TARGETS: dict[str, tuple[str, float]] = {
    "create_first_exec_ms": ("<", 150.0),
    "exec_ratio_to_crun": ("<=", 2.0),
    "exec_ratio_podman_to_ours": (">=", 8.0),
    "remount_ms": ("<", 100.0),
    "sandboxd_idle_memory_mib": ("<", 60.0),
}
_NAMES = (*_TARGETS, "sandbox_exec_ms", "sandbox_delete_ms", "sandbox_exec_load")


def rows() -> list[dict[str, object]]:
    """Figures with their targets; what cannot be measured here says why."""
    obstacle = _obstacle()
    if obstacle is not None:
        return [{"name": name, "why": obstacle} for name in _NAMES]
    with _node() as node:
        return _measure(node)


def _obstacle() -> str | None:
    if os.geteuid() != 0:
        return "sandboxes need root"
    missing = [p for p in ("crun", "catatonit", "mkfs.xfs", "busybox") if not shutil.which(p)]
    return f"not installed: {', '.join(missing)}" if missing else None


class _Node:
    """A daemon of its own on fresh directories, with the small image."""

    def __init__(self, root: Path) -> None:
        self.root = root
        self.run = root / "run"
        self.client = SandboxdClient(SandboxdSettings(socket_path=self.run / "s", epoch=1))
        self._words = [sys.executable, "-m", "sandboxd", "--state-dir", str(root / "state")]
        self._words += ["--run-dir", str(self.run), "--socket", str(self.run / "s")]
        self._command("image", "build-demo", str(root / "layout"))
        self._command("image", "import", str(root / "layout"))
        with (root / "log").open("wb") as log:
            self.process = subprocess.Popen([*self._words, "serve"], stdout=log, stderr=log)
        deadline = time.monotonic() + _START_WITHIN_S
        while not (self.run / "s").exists():
            if time.monotonic() > deadline or self.process.poll() is not None:
                raise RuntimeError((root / "log").read_text("utf-8")[-500:])
            time.sleep(0.02)

    def _command(self, *words: str) -> None:
        subprocess.run([*self._words, *words], check=True, capture_output=True)

    def resident_mib(self) -> float:
        status = Path(f"/proc/{self.process.pid}/status").read_text("ascii")
        return int(status.partition("VmRSS:")[2].split()[0]) / 1024

    def create(self, name: str) -> BackendSandbox:
        image = self.client.current_image()[0]
        node = self.client.health().node
        spec = SandboxSpec(name=SandboxName(name), purpose="bench", node=node, limits=_LIMITS)
        return self.client.create(new_operation_id(), spec, image)

    def true(self, box: BackendSandbox) -> None:
        self.client.execute(
            new_operation_id(),
            name=box.name,
            instance=box.instance,
            action=Command(argv=("/bin/true",)),
            cancel=CancelToken(),
        )

    def stop_box(self, box: BackendSandbox) -> None:
        self.client.stop(new_operation_id(), box.name, box.instance)

    def delete(self, box: BackendSandbox) -> None:
        self.client.delete(new_operation_id(), box.name, box.instance)

    def bare_exec_ms(self) -> list[float]:
        """The same command by crun alone, in the same container, from the daemon's own mounts."""
        words = ["nsenter", "-t", str(self.process.pid), "-m", sys.executable, "-c", _BARE]
        told = [str(self.run / "runtime"), str(_BATCH)]
        done = subprocess.run([*words, *told], capture_output=True, text=True, check=True)
        took: list[float] = json.loads(done.stdout)
        return took


@contextmanager
def _node() -> Iterator[_Node]:
    with tempfile.TemporaryDirectory(prefix="sandboxd-bench-") as directory:
        node = _Node(Path(directory))
        try:
            yield node
        finally:
            node.process.terminate()
            node.process.wait(20)


def _measure(node: _Node) -> list[dict[str, object]]:
    first, deleted = _lives(node)
    with ExitStack() as ending:
        box = node.create("bench")
        ending.callback(node.delete, box)
        node.true(box)
        exec_ms, bare_ms = _side_by_side(node, box)
        remount_ms = _remount_ms(node, box)
        memory_mib = node.resident_mib()
        why = why_no_podman()
        podman = None if why else Podman(node.root / "layout", node.root / "podman")
        if podman is not None:
            ending.callback(podman.remove)
            why = podman.why
        peer = None
        if podman is not None and not why:
            peer = podman.measure(_LIFE_ROUNDS, lambda: node.true(box))
    return [
        _row("create_first_exec_ms", first, "ms", peer.create_first_exec_ms if peer else why),
        _row("exec_ratio_to_crun", exec_ms / bare_ms, "", 1.0),
        _ratio_row(peer, why or ""),
        _row("remount_ms", remount_ms, "ms", peer.restart_ms if peer else why),
        _row("sandboxd_idle_memory_mib", memory_mib, "MiB", None),
        _row("sandbox_exec_ms", exec_ms, "ms", bare_ms),
        _row("sandbox_delete_ms", deleted, "ms", peer.delete_ms if peer else why),
        _row("sandbox_exec_load", os.getloadavg()[0], "", float(os.cpu_count() or 1)),
    ]


def _side_by_side(node: _Node, box: BackendSandbox) -> tuple[float, float]:
    """Medians of our exec and the bare one, in turns: what else the machine does hits both."""
    ours: list[float] = []
    bare: list[float] = []
    for _ in range(_BATCHES):
        ours += [time_ms(lambda: node.true(box)) for _ in range(_BATCH)]
        bare += node.bare_exec_ms()
    return statistics.median(ours), statistics.median(bare)


def _lives(node: _Node) -> tuple[float, float]:
    """Medians of create with the first command, and of delete."""
    first, deleted = [], []
    for number in range(_LIFE_ROUNDS):
        began = time.perf_counter()
        box = node.create(f"life-{number}")
        node.true(box)
        used = time.perf_counter()
        node.delete(box)
        first.append((used - began) * 1000)
        deleted.append((time.perf_counter() - used) * 1000)
    return statistics.median(first), statistics.median(deleted)


def _remount_ms(node: _Node, box: BackendSandbox) -> float:
    took = []
    for _ in range(_LIFE_ROUNDS):
        node.stop_box(box)
        took.append(time_ms(lambda: node.true(box)))
    return statistics.median(took)


def _row(name: str, value: float, unit: str, peer: float | str | None) -> dict[str, object]:
    sign, target = _TARGETS.get(name, ("", None))
    ratio = value / peer if isinstance(peer, float) else None
    return {
        "name": name,
        "value": round(value, 2),
        "unit": unit,
        "peer_or_floor": round(peer, 2) if isinstance(peer, float) else peer,
        "ratio": None if ratio is None else round(ratio, 3),
        "target": None if target is None else f"{sign} {target:g}",
        "met": None if target is None else _is_met(value, sign, target),
    }


def _is_met(value: float, sign: str, target: float) -> bool:
    return {"<": value < target, "<=": value <= target, ">=": value >= target}[sign]


def _ratio_row(peer: PodmanFigures | None, why: str) -> dict[str, object]:
    if peer is None:
        return {"name": "exec_ratio_podman_to_ours", "why": why}
    row = _row("exec_ratio_podman_to_ours", peer.exec_ms / peer.ours_ms, "", None)
    return row | {"peer_or_floor": f"podman exec {peer.exec_ms:.1f} ms, ours {peer.ours_ms:.1f} ms"}
