"""One container under crun: the root file system of an image, read-only, as some user.

It shares the network with the test, whose stand-ins listen on loopback, and nothing else. No engine
and no control groups are needed: only the runtime, as a kubelet's would run it.
"""

import json
import subprocess
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Self

_WITHIN_S = 30.0
_NAMESPACES = ("pid", "ipc", "uts", "mount")
_SETS = ("bounding", "effective", "inheritable", "permitted", "ambient")
_ALL_CAPABILITIES = """CAP_CHOWN CAP_DAC_OVERRIDE CAP_DAC_READ_SEARCH CAP_FOWNER CAP_FSETID CAP_KILL
CAP_SETGID CAP_SETUID CAP_SETPCAP CAP_SYS_ADMIN CAP_SYS_CHROOT CAP_SYS_PTRACE CAP_MKNOD""".split()
_LOOPS = 64
# crun refuses a hybrid hierarchy whose second part has controllers; covered, it is not there.
_COVER_HYBRID = """if mountpoint -q /sys/fs/cgroup/unified; then
    mount -t tmpfs none /sys/fs/cgroup/unified; fi; exec "$@" """


@dataclass(frozen=True, slots=True, kw_only=True)
class Mount:
    """A directory or file of the test inside the container."""

    source: Path
    target: str
    is_writable: bool = False

    def as_oci(self) -> Mapping[str, Any]:
        options = ["rbind", "nosuid", "nodev", "rw" if self.is_writable else "ro"]
        return {
            "destination": self.target,
            "type": "bind",
            "source": str(self.source),
            "options": options,
        }


@dataclass(slots=True, kw_only=True)
class Container:
    """Started by `start` or run to its end by `run`; `stop` in any case."""

    name: str
    root: Path
    folder: Path
    user: int
    arguments: Sequence[str]
    mounts: Sequence[Mount] = ()
    is_privileged: bool = False
    environment: Sequence[str] = ("PATH=/opt/perlica/bin:/usr/sbin:/usr/bin", "PYTHONUTF8=1")
    _process: subprocess.Popen[bytes] | None = field(default=None)

    @property
    def log(self) -> Path:
        """What it prints to stderr, and to stdout when it was started."""
        return self.folder / f"{self.name}.log"

    def start(self) -> Self:
        """Start it and return."""
        with self.log.open("ab") as log:
            self._process = subprocess.Popen(
                self._command(), stdin=subprocess.DEVNULL, stdout=log, stderr=log
            )
        return self

    def run(self) -> subprocess.CompletedProcess[str]:
        """Run it to its end."""
        return subprocess.run(
            self._command(),
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            timeout=_WITHIN_S,
            check=False,
        )

    @property
    def is_running(self) -> bool:
        """Whether its first process has not ended."""
        return self._process is not None and self._process.poll() is None

    def terminate(self) -> int:
        """SIGTERM to its first process; the exit code."""
        assert self._process is not None
        self._crun("kill", self.name, "TERM")
        return self._process.wait(_WITHIN_S)

    def stop(self) -> None:
        """End it whatever it does, and forget it."""
        if self.is_running:
            self._crun("kill", self.name, "KILL")
        self._crun("delete", "--force", self.name)
        if self._process is not None:
            self._process.wait(_WITHIN_S)

    def _crun(self, *words: str) -> None:
        command = ["crun", "--root", str(self.folder / "crun"), *words]
        subprocess.run(command, stdin=subprocess.DEVNULL, capture_output=True, check=False)

    def _command(self) -> list[str]:
        bundle = self.folder / self.name
        bundle.mkdir(exist_ok=True)
        (bundle / "config.json").write_text(json.dumps(self._spec()), "utf-8")
        crun = ["crun", "--root", str(self.folder / "crun"), "--cgroup-manager=disabled"]
        prepare = ["unshare", "--mount", "--", "sh", "-c", _COVER_HYBRID, "sh"]
        return [*prepare, *crun, "run", "--bundle", str(bundle), self.name]

    def _spec(self) -> Mapping[str, Any]:
        held = _ALL_CAPABILITIES if self.is_privileged else []
        linux: dict[str, Any] = {"namespaces": [{"type": kind} for kind in _NAMESPACES]}
        if self.is_privileged:
            linux["devices"] = _loop_devices()
        return {
            "ociVersion": "1.0.2",
            "root": {"path": str(self.root), "readonly": True},
            "hostname": self.name,
            "process": {
                "terminal": False,
                "user": {"uid": self.user, "gid": self.user},
                "args": list(self.arguments),
                "env": list(self.environment),
                "cwd": "/",
                "capabilities": {kind: held for kind in _SETS if held or kind != "ambient"},
                "noNewPrivileges": not self.is_privileged,
            },
            "mounts": [*self._own_mounts(), *(mount.as_oci() for mount in self.mounts)],
            "linux": linux,
        }

    def _own_mounts(self) -> list[Mapping[str, Any]]:
        mounts: list[Mapping[str, Any]] = [
            {"destination": "/proc", "type": "proc", "source": "proc"},
            _tmpfs("/dev", "mode=755", "nosuid"),
            _tmpfs("/tmp", "mode=1777", "nosuid", "nodev"),
        ]
        if self.is_privileged:
            sys = {"destination": "/sys", "type": "bind", "source": "/sys"}
            mounts += [{**sys, "options": ["rbind", "rw"]}, _tmpfs("/run/sandboxd", "mode=755")]
        return mounts


def _tmpfs(target: str, *options: str) -> Mapping[str, Any]:
    return {
        "destination": target,
        "type": "tmpfs",
        "source": "tmpfs",
        "options": ["size=64m", *options],
    }


def _loop_devices() -> list[Mapping[str, Any]]:
    """Nodes of the container's own: the node's /dev stays out of reach of the runtime."""
    control = {"path": "/dev/loop-control", "type": "c", "major": 10, "minor": 237}
    loops = [
        {"path": f"/dev/loop{number}", "type": "b", "major": 7, "minor": number}
        for number in range(_LOOPS)
    ]
    return [control, *loops]
