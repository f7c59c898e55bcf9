"""The same life in podman, on the same image, with storage of its own that goes away afterwards."""

import shutil
import statistics
import subprocess
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

_IMAGE = "localhost/sandboxd-bench:1"
_NAME = "sandboxd-bench"
_WITHIN_S = 120.0
_REST_WITHIN_S = 5.0
_IN_TURN = 4
_LOCKS = Path("/dev/shm/libpod_lock")  # noqa: S108 (podman's own, for all its storages)
# Without CAP_SYS_RESOURCE podman's own default limits cannot be set.
_RUN = ("--network=none", "--ulimit=nofile=1024:1024", "--ulimit=nproc=1000:1000")


def why_no_podman() -> str | None:
    """What is missing, or None."""
    return None if shutil.which("podman") else "podman is not installed (apt install podman)"


@dataclass(frozen=True, slots=True, kw_only=True)
class PodmanFigures:
    """Medians in milliseconds."""

    create_first_exec_ms: float
    exec_ms: float
    ours_ms: float
    """What ours took for the same, in turns with podman's exec."""
    restart_ms: float
    delete_ms: float


def time_ms(work: Callable[[], object]) -> float:
    """How long it takes."""
    began = time.perf_counter()
    work()
    return (time.perf_counter() - began) * 1000


class Podman:
    """`why` is set when it cannot run here."""

    def __init__(self, layout: Path, directory: Path) -> None:
        self._directory = directory
        self._words = (
            *("podman", "--root", str(directory / "root"), "--runroot", str(directory / "run")),
            *("--cgroup-manager=cgroupfs", "--events-backend=none", "--runtime=crun"),
        )
        self._had_locks = _LOCKS.exists()
        self.why: str | None = None
        self._keep()
        if self.why is None:
            copy = ("skopeo", "copy", "--quiet", f"oci:{layout}", f"oci-archive:{directory}.tar")
            self._try(*copy)
            self._try(*self._words, "load", "--quiet", "--input", f"{directory}.tar")
            self._find_image()

    def _keep(self) -> None:
        self._directory.mkdir()
        if shutil.which("skopeo") is None:
            self.why = "skopeo is not installed"

    def _find_image(self) -> None:
        listed = self._try(*self._words, "images", "--quiet", "--no-trunc")
        ids = listed.split()
        if ids:
            self._try(*self._words, "tag", ids[0], _IMAGE)
            self._first_run()
        elif self.why is None:
            self.why = "podman loaded no image"

    def _first_run(self) -> None:
        """Its usual runtime is crun; in a hybrid control-group layout only runc starts."""
        for runtime in ("crun", "runc"):
            self._words = (*self._words[:-1], f"--runtime={runtime}")
            done = self._run("run", "--rm", *_RUN, _IMAGE, "/bin/true")
            if done.returncode == 0:
                self.why = None
                return
            lines = done.stderr.strip().splitlines()
            self.why = f"podman run ({runtime}): {lines[-1] if lines else 'failed'}"[:200]

    def _try(self, *words: str) -> str:
        if self.why is not None:
            return ""
        done = subprocess.run(words, capture_output=True, text=True, check=False, timeout=_WITHIN_S)
        if done.returncode != 0:
            lines = done.stderr.strip().splitlines()
            self.why = f"{words[0]}: {lines[-1] if lines else 'failed'}"[:200]
        return done.stdout

    def _run(self, *words: str, check: bool = False) -> subprocess.CompletedProcess[str]:
        return subprocess.run(
            [*self._words, *words], capture_output=True, text=True, check=check, timeout=_WITHIN_S
        )

    def _timed(self, *words: str) -> float:
        began = time.perf_counter()
        self._run(*words, check=True)
        return (time.perf_counter() - began) * 1000

    def _wait_for_rest(self) -> None:
        """After its answer podman goes on cleaning up; whoever is measured next must not pay."""
        deadline = time.monotonic() + _REST_WITHIN_S
        while self._still_works() and time.monotonic() < deadline:
            time.sleep(0.005)

    def _still_works(self) -> bool:
        own = str(self._directory).encode()
        for process in Path("/proc").glob("[0-9]*"):
            try:
                words = (process / "cmdline").read_bytes().split(b"\0")
            except OSError:
                continue
            if words[0].rpartition(b"/")[2] == b"podman" and any(own in word for word in words):
                return True
        return False

    def measure(self, rounds: int, ours: Callable[[], object]) -> PodmanFigures:
        """The same steps as ours: run detached with a first command, exec, stop and start, rm.

        `ours` is our exec, done in turns with podman's: a few of the one, rest, a few of the other.
        """
        start = ("run", "--detach", "--name", _NAME, *_RUN, _IMAGE, "/bin/sleep", "1000")
        true = ("exec", _NAME, "/bin/true")
        created, removed, restarted, ran, beside = [], [], [], [], []
        for _ in range(max(3, rounds // 3)):
            created.append(self._timed(*start) + self._timed(*true))
            removed.append(self._timed("rm", "--force", "--time=0", _NAME))
        self._run(*start, check=True)
        try:
            for _ in range(rounds):
                ran += [self._timed(*true) for _ in range(_IN_TURN)]
                self._wait_for_rest()
                beside += [time_ms(ours) for _ in range(_IN_TURN)]
            for _ in range(max(3, rounds // 3)):
                self._run("stop", "--time=0", _NAME, check=True)
                restarted.append(self._timed("start", _NAME) + self._timed(*true))
        finally:
            self._run("rm", "--force", "--time=0", _NAME)
        return PodmanFigures(
            create_first_exec_ms=statistics.median(created),
            exec_ms=statistics.median(ran),
            ours_ms=statistics.median(beside),
            restart_ms=statistics.median(restarted),
            delete_ms=statistics.median(removed),
        )

    def remove(self) -> None:
        """Containers, image and storage."""
        self._run("rm", "--all", "--force", "--time=0")
        self._run("rmi", "--all", "--force")
        # Its storage may be mounted on itself.
        subprocess.run(
            ["umount", "--quiet", "--lazy", str(self._directory / "root" / "overlay")], check=False
        )
        shutil.rmtree(self._directory, ignore_errors=True)
        if not self._had_locks:
            _LOCKS.unlink(missing_ok=True)
