"""Looks whether a node can run sandboxes, and says for each finding what to do.

Only looks: it mounts nothing and changes nothing, so it can run beside the daemon.
"""

import contextlib
import os
import shutil
import sysconfig
from collections.abc import Callable, Iterator
from pathlib import Path

from sandboxd import wire
from sandboxd.config import Config
from sandboxd.doctor_outside import look_outside
from sandboxd.faults import Fault
from sandboxd.finding import Finding, judge
from sandboxd.images.catalog import Catalog
from sandboxd.kernel.cgroups import ROOT, cgroup_mode
from sandboxd.kernel.confinement import CAPABILITIES
from sandboxd.kernel.mountinfo import read_mounts
from sandboxd.kernel.steps import IDMAPPED_LAYERS_SINCE
from sandboxd.operator.asking import ask

_ANSWER_WITHIN_S = 3.0
_NEEDED_CONTROLLERS = ("cpu", "memory", "pids")


def examine(config: Config) -> tuple[Finding, ...]:
    """All findings, in the order in which they matter."""
    checks: tuple[Callable[[Config], Iterator[Finding]], ...] = (
        _privileges,
        _kernel,
        _control_groups,
        _programs,
        _host_ids,
        _state_directory,
        _run_directory,
        _images,
        look_outside,
        _daemon,
    )
    return tuple(finding for check in checks for finding in check(config))


def exit_code(findings: tuple[Finding, ...]) -> int:
    """0 all well, 1 something to know, 2 sandboxes cannot run."""
    levels = {finding.level for finding in findings}
    return 2 if "failure" in levels else 1 if "warning" in levels else 0


def _privileges(_: Config) -> Iterator[Finding]:
    status = Path("/proc/self/status").read_text(encoding="ascii")
    line = next(line for line in status.splitlines() if line.startswith("CapEff"))
    held = int(line.split()[1], 16)
    needed = {**CAPABILITIES, "MKNOD": 27, "SYS_CHROOT": 18}
    missing = sorted(name for name, number in needed.items() if not held >> number & 1)
    yield judge(
        "privileges",
        is_fine=os.geteuid() == 0 and not missing,
        message=f"uid {os.geteuid()}, missing: {', '.join(missing) or 'nothing'}",
        remedy="run as root with CAP_" + ", CAP_".join(missing or ["SYS_ADMIN"]),
    )


def _kernel(_: Config) -> Iterator[Finding]:
    release = os.uname().release
    major, minor = (int(part) for part in release.split(".")[:2])
    yield judge(
        "kernel",
        is_fine=(major, minor) >= IDMAPPED_LAYERS_SINCE,
        message=release,
        remedy="idmapped overlay layers need Linux 5.19 or later",
    )
    known = Path("/proc/filesystems").read_text(encoding="ascii").split()
    for fstype in ("overlay", "xfs", "squashfs"):
        has_module = any(Path("/lib/modules", release).rglob(f"{fstype}.ko*"))
        yield judge(
            f"file system {fstype}",
            is_fine=fstype in known or has_module,
            message="known to the kernel" if fstype in known else "as a module or missing",
            remedy=f"modprobe {fstype}, or use a kernel that has it",
        )
    yield judge(
        "loop devices",
        is_fine=Path("/dev/loop-control").exists(),
        message="/dev/loop-control",
        remedy="modprobe loop",
    )
    yield from _isolation()


def _isolation() -> Iterator[Finding]:
    actions = Path("/proc/sys/kernel/seccomp/actions_avail")
    yield judge(
        "seccomp",
        is_fine=actions.exists() and "errno" in actions.read_text(encoding="ascii"),
        message="filters can answer with an error",
        remedy="use a kernel with CONFIG_SECCOMP_FILTER",
    )
    allowed = Path("/proc/sys/user/max_user_namespaces")
    yield judge(
        "user namespaces",
        is_fine=allowed.exists() and int(allowed.read_text(encoding="ascii")) > 0,
        message="available",
        remedy="sysctl user.max_user_namespaces=15000",
    )


def _control_groups(_: Config) -> Iterator[Finding]:
    try:
        mode = cgroup_mode()
    except Fault as fault:
        yield Finding(
            subject="control groups", level="failure", message=fault.message, remedy=fault.remedy
        )
        return
    if mode == "v2":
        available = (ROOT / "cgroup.controllers").read_text(encoding="ascii").split()
    else:
        mounted = [entry for entry in read_mounts() if entry.fstype == "cgroup"]
        available = sorted({option for entry in mounted for option in entry.super_options})
        yield judge(
            "freezer",
            is_fine="freezer" in available,
            message="mounted" if "freezer" in available else "missing",
            remedy="mount the version 1 freezer hierarchy, or use version 2",
        )
    missing = [name for name in _NEEDED_CONTROLLERS if name not in available]
    yield judge(
        "control groups",
        is_fine=not missing,
        message=f"{mode}, missing controllers: {', '.join(missing) or 'none'}",
        remedy="enable them on the kernel command line or in systemd",
    )


def _programs(config: Config) -> Iterator[Finding]:
    packages = {
        config.runtime: "crun",
        str(config.init): "catatonit",
        "mkfs.xfs": "xfsprogs",
        "mksquashfs": "squashfs-tools",
    }
    for program, package in packages.items():
        path = shutil.which(program)
        yield judge(
            f"program {Path(program).name}",
            is_fine=path is not None,
            message=path or "not found",
            remedy=f"apt install {package}",
        )
    for name in ("_native", "_files"):
        built = Path(__file__).with_name(f"{name}{sysconfig.get_config_var('EXT_SUFFIX')}")
        yield judge(
            f"native part {name}",
            is_fine=built.exists(),
            message="built" if built.exists() else "not built for this Python",
            remedy="install the package again with a C compiler",
        )


def _host_ids(config: Config) -> Iterator[Finding]:
    """Other users of subordinate ids are listed in /etc/subuid and /etc/subgid."""
    first, last = config.first_host_id, config.first_host_id + 65536 * config.bounds.sandboxes
    taken = []
    for file in (Path("/etc/subuid"), Path("/etc/subgid")):
        with contextlib.suppress(OSError, ValueError):
            for line in file.read_text(encoding="utf-8").splitlines():
                owner, start, count = line.split(":")
                if int(start) < last and first < int(start) + int(count):
                    taken.append(owner)
    yield judge(
        "host ids",
        is_fine=not taken,
        message=f"{first} to {last - 1}" + (f" overlap with {', '.join(taken)}" if taken else ""),
        remedy="set first_host_id to a range that nobody else has",
    )


def _state_directory(config: Config) -> Iterator[Finding]:
    place = _nearest_existing(config.state_dir)
    found = os.statvfs(place)
    free = found.f_bavail * found.f_frsize
    needed = config.bounds.free_disk_bytes + wire.MIN_DISK_BYTES
    yield judge(
        "state directory",
        is_fine=os.access(place, os.W_OK) and free > needed,
        message=f"{config.state_dir}, {free // 1024**2} MiB free",
        remedy=f"make it writable, with at least {needed // 1024**2} MiB free",
    )
    if _fstype_of(place) == "tmpfs":
        yield Finding(
            subject="state directory",
            level="warning",
            message="it lies in memory: sandboxes do not survive a restart of the node",
            remedy="set state_dir to a directory on a disk",
        )


def _run_directory(config: Config) -> Iterator[Finding]:
    kind = _fstype_of(_nearest_existing(config.run_dir))
    if kind == "tmpfs":
        yield Finding(subject="run directory", level="ok", message=f"{config.run_dir} on a tmpfs")
    else:
        yield Finding(
            subject="run directory",
            level="warning",
            message=f"{config.run_dir} is on {kind}: outputs that were not acknowledged are lost "
            "when the daemon is killed",
            remedy="set run_dir to a directory on a tmpfs, such as /run on most systems",
        )


def _nearest_existing(path: Path) -> Path:
    return next(parent for parent in (path, *path.parents) if parent.exists())


def _fstype_of(path: Path) -> str:
    device = path.stat().st_dev
    number = f"{os.major(device)}:{os.minor(device)}"
    return next((e.fstype for e in reversed(read_mounts()) if e.device == number), "unknown")


def _images(config: Config) -> Iterator[Finding]:
    directory = config.state_dir / "images"
    try:
        held = Catalog(directory).list() if directory.exists() else ()
    except (Fault, PermissionError) as error:
        yield Finding(subject="images", level="failure", message=str(error))
        return
    if held:
        yield Finding(subject="images", level="ok", message=f"{len(held)} on this node")
    else:
        yield Finding(
            subject="images",
            level="warning",
            message="none: no sandbox can be made",
            remedy="sandboxd image import DIRECTORY",
        )


def _daemon(config: Config) -> Iterator[Finding]:
    try:
        health = ask(config.socket, wire.HealthReport, wire.HEALTH_PATH, within_s=_ANSWER_WITHIN_S)
    except (Fault, ValueError) as error:
        yield Finding(
            subject="daemon",
            level="warning",
            message=f"no answer on {config.socket} ({type(error).__name__})",
            remedy="start it: sandboxd serve",
        )
        return
    yield Finding(
        subject="daemon",
        level="ok",
        message=f"version {health.version} answers, "
        f"{health.counts.sandboxes} sandboxes, epoch {health.epoch}",
    )
