"""The OCI configuration of a sandbox's container: what it sees, may do and may use.

Its own user namespace, seven capabilities, no new privileges, the seccomp list, no network
interface but lo, terminals of its own, no control-group mount, masked kernel files. The init
process is catatonit, bound read-only, because it survives a kill of everything else and reaps what
is left.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

from sandboxd.runtime.syscalls import seccomp_profile
from sandboxd.storage.overlay import IdRange
from sandboxd.wire import Limits, User

CAPABILITIES: Final = (
    "CAP_CHOWN",
    "CAP_DAC_OVERRIDE",
    "CAP_FOWNER",
    "CAP_FSETID",
    "CAP_KILL",
    "CAP_SETGID",
    "CAP_SETUID",
)
INIT_PATH: Final = "/dev/init"
FILES_PATH: Final = "/dev/files"
DEFAULT_ENVIRONMENT: Final = {
    "PATH": "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin",
    "LANG": "C.UTF-8",
    "HOME": "",
}
"""An empty HOME becomes the user's own when the command starts (inside/start.h); without one the
runtime would take root's."""
_MASKED: Final = (
    "/proc/acpi",
    "/proc/asound",
    "/proc/interrupts",
    "/proc/kallsyms",
    "/proc/kcore",
    "/proc/keys",
    "/proc/kmsg",
    "/proc/kpagecgroup",
    "/proc/kpagecount",
    "/proc/kpageflags",
    "/proc/latency_stats",
    "/proc/modules",
    "/proc/sched_debug",
    "/proc/scsi",
    "/proc/slabinfo",
    "/proc/sysrq-trigger",
    "/proc/timer_list",
    "/proc/timer_stats",
    "/proc/vmallocinfo",
    "/sys/firmware",
    "/sys/fs",
    "/sys/kernel",
    "/sys/devices/virtual/powercap",
)
_READ_ONLY: Final = ("/proc/bus", "/proc/fs", "/proc/irq", "/proc/sys")
_CPU_PERIOD_US: Final = 100_000
_SHM: Final = "/dev/shm"  # noqa: S108 (a mount point inside the sandbox)
_SHARE_OF_MEMORY: Final = 8
_MAX_SHARED_BYTES: Final = 64 * 1024 * 1024
_TERMINALS: Final = (
    *("nosuid", "noexec", "newinstance", "ptmxmode=0666", "mode=0620"),
    "gid=5",  # tty
    "max=64",  # All instances of devpts share the kernel's one supply (pty.max).
)
_SYSCTL: Final = {"net.ipv4.ip_unprivileged_port_start": "0"}
"""The network is the sandbox's own: everybody in it may serve port 80."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Container:
    """Everything the configuration depends on. `init` and `files` are static host programs."""

    rootfs: Path
    cgroup: str
    ids: IdRange
    limits: Limits
    hostname: str
    init: Path
    files: Path


def container_configuration(container: Container) -> dict[str, Any]:
    """The whole config.json of the container."""
    return {
        "ociVersion": "1.0.0",
        "hostname": container.hostname,
        "root": {"path": str(container.rootfs), "readonly": False},
        "process": process_configuration(
            argv=(FILES_PATH, "init", container.hostname, INIT_PATH, "-P"),
            env={},
            nofile=container.limits.nofile,
        ),
        "mounts": _mounts(container),
        "linux": _linux(container),
    }


def command_configuration(
    *,
    argv: tuple[str, ...],
    env: Mapping[str, str],
    cwd: str,
    user: User | str,
    nofile: int,
) -> dict[str, Any]:
    """The process object of a command. It begins as root and becomes its user by itself, whom it
    finds in the sandbox (inside/start.h); the kernel then takes all capabilities away.
    """
    named = user if isinstance(user, str) else f"{user.uid}:{user.gid}"
    words = (FILES_PATH, "start", "" if user == User() else named, cwd, *argv)
    return process_configuration(argv=words, env=env, nofile=nofile)


def process_configuration(
    *, argv: tuple[str, ...], env: Mapping[str, str], nofile: int
) -> dict[str, Any]:
    """A process object: of the init process and of each command."""
    names = list(CAPABILITIES)
    return {
        "terminal": False,
        "user": {"uid": 0, "gid": 0, "umask": 0o022},
        "args": list(argv),
        "env": [f"{key}={value}" for key, value in (DEFAULT_ENVIRONMENT | dict(env)).items()],
        "cwd": "/",
        "capabilities": {
            "bounding": names,
            "permitted": names,
            "effective": names,
        },
        "rlimits": [
            {"type": "RLIMIT_NOFILE", "soft": nofile, "hard": nofile},
            {"type": "RLIMIT_CORE", "soft": 0, "hard": 0},
        ],
        "noNewPrivileges": True,
    }


def _mounts(container: Container) -> list[dict[str, Any]]:
    hardened = ["nosuid", "nodev", "noexec"]
    # Files there are memory of the sandbox that no kill frees: too many of them would leave room
    # for no process at all.
    shared = min(_MAX_SHARED_BYTES, container.limits.memory_bytes // _SHARE_OF_MEMORY)
    size = f"size={shared // 1024}k"
    return [
        _mount("/proc", "proc", "proc", hardened),
        _mount("/dev", "tmpfs", "tmpfs", ["nosuid", "strictatime", "mode=755", size]),
        _mount(_SHM, "tmpfs", "shm", [*hardened, "mode=1777", size]),
        _mount("/dev/pts", "devpts", "devpts", list(_TERMINALS)),
        _mount("/dev/mqueue", "mqueue", "mqueue", hardened),
        _mount("/sys", "sysfs", "sysfs", [*hardened, "ro"]),
        _mount(INIT_PATH, "bind", str(container.init), ["bind", "ro", "nosuid", "nodev"]),
        _mount(FILES_PATH, "bind", str(container.files), ["bind", "ro", "nosuid", "nodev"]),
    ]


def _mount(destination: str, kind: str, source: str, options: list[str]) -> dict[str, Any]:
    return {"destination": destination, "type": kind, "source": source, "options": options}


def _linux(container: Container) -> dict[str, Any]:
    mapping = {
        "containerID": 0,
        "hostID": container.ids.first,
        "size": container.ids.count,
    }
    kinds = ("pid", "ipc", "uts", "mount", "network", "cgroup", "user")
    return {
        "cgroupsPath": container.cgroup,
        "namespaces": [{"type": kind} for kind in kinds],
        "uidMappings": [mapping],
        "gidMappings": [mapping],
        "resources": _resources(container.limits),
        "seccomp": seccomp_profile(),
        "sysctl": dict(_SYSCTL),
        "maskedPaths": list(_MASKED),
        "readonlyPaths": list(_READ_ONLY),
    }


def _resources(limits: Limits) -> dict[str, Any]:
    return {
        "memory": {"limit": limits.memory_bytes, "swap": limits.memory_bytes},
        "pids": {"limit": limits.pids},
        "cpu": {
            "quota": limits.cpu_millis * _CPU_PERIOD_US // 1000,
            "period": _CPU_PERIOD_US,
        },
        "devices": [{"allow": False, "access": "rwm"}],
    }
