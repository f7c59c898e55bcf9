"""Shuts the daemon in before it does anything else: namespace, devices, capabilities.

Own mount namespace, so that no mount of a sandbox ever shows on the node and all of them end with
the daemon and its containers. A private /dev, because an OCI runtime binds /dev/null and its kin
into containers. A smaller bounding set for the daemon and everything it starts.
"""

import os
import resource
import shutil
import stat
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from sandboxd import _native
from sandboxd.kernel.cgroups import UNIFIED, cgroup_mode
from sandboxd.kernel.mountinfo import read_mounts
from sandboxd.kernel.steps import explained, follow_kernel_log

CAPABILITIES = {
    "CHOWN": 0,
    "DAC_OVERRIDE": 1,
    "DAC_READ_SEARCH": 2,  # Without it overlayfs cannot decode file handles and drops index=on.
    "FOWNER": 3,
    "FSETID": 4,
    "KILL": 5,
    "SETGID": 6,
    "SETUID": 7,
    "SETPCAP": 8,
    "SYS_ADMIN": 21,
}
_NODES = {
    "null": (1, 3),
    "zero": (1, 5),
    "full": (1, 7),
    "random": (1, 8),
    "urandom": (1, 9),
    "tty": (5, 0),
}
_AT_FDCWD = -100
_DEV_FLAGS = _native.MOUNT_ATTR_NOSUID | _native.MOUNT_ATTR_NOEXEC
_ROOM_FLAGS = _native.MOUNT_ATTR_NOSUID | _native.MOUNT_ATTR_NODEV
_OUTPUT_FLAGS = _ROOM_FLAGS | _native.MOUNT_ATTR_NOEXEC


@dataclass(frozen=True, slots=True, kw_only=True)
class Room:
    """What the daemon has to itself. `host_devices` is a descriptor of the node's /dev."""

    host_devices: int
    roots: Path
    init: Path
    files: Path
    outputs_survive_restart: bool


RUNC_CAPABILITIES = {"SYS_CHROOT": 18, "SYS_PTRACE": 19}
"""runc makes itself undumpable, opens its child's files in /proc, and enters its mounts."""


def confine(
    *,
    name: str,
    init: Path,
    files: Path,
    outputs: Path,
    capabilities: Mapping[str, int],
) -> Room:
    """Confines this process, which must still have one thread. Raises: Misconfigured, Retryable.

    `name` tells this daemon's mounts from those of others. Outputs need memory: when `outputs` is
    not on a tmpfs that outlives the daemon, it gets one that ends with it.
    """
    host_devices = os.open("/dev", os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    follow_kernel_log()
    hybrid = cgroup_mode() == "hybrid"
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    with explained("make a mount namespace"):
        _native.forbid_core_dumps()
        _native.unshare(_native.CLONE_NEWNS)
        _native.make_all_private()
        _native.become_subreaper()
    _cover_devices()
    if hybrid:
        # crun refuses hybrid mode when the unified hierarchy has controllers; covered, it is gone.
        _mount_tmpfs(UNIFIED, mode="755", flags=_OUTPUT_FLAGS)
    survives = _is_tmpfs(outputs)
    if not survives:
        _mount_tmpfs(outputs, mode="700", flags=_OUTPUT_FLAGS)
    room = _furnish(Path("/dev") / f"sandboxd-{name}", init, files)
    with explained("give up capabilities"):
        _native.limit_capabilities(sum(1 << number for number in capabilities.values()))
    return Room(
        host_devices=host_devices,
        roots=room / "roots",
        init=room / "init",
        files=room / "files",
        outputs_survive_restart=survives,
    )


def _cover_devices() -> None:
    """Nodes of its own; /dev/shm stays the node's, because a run directory may lie there."""
    shared = Path("/dev/shm")  # noqa: S108 (the mount, not a file in it)
    kept = _native.open_tree_clone(_AT_FDCWD, str(shared)) if shared.is_mount() else None
    _mount_tmpfs(Path("/dev"), mode="755", flags=_DEV_FLAGS)
    if kept is not None:
        shared.mkdir()
        _native.move_mount(kept, str(shared))
        os.close(kept)
    for name, (major, minor) in _NODES.items():
        node = Path("/dev") / name
        os.mknod(node, stat.S_IFCHR, os.makedev(major, minor))
        node.chmod(0o666)


def _furnish(room: Path, init: Path, files: Path) -> Path:
    """A private tmpfs with the mount points and the two programs that sandboxes get to see.

    Bound from here, they show no file system of the node inside a sandbox. It lies in the private
    /dev, because a container's own root must be able to pass through every directory above it: a
    run directory may be anywhere, also below one that is closed to others.
    """
    _mount_tmpfs(room, mode="711", flags=_ROOM_FLAGS)
    (room / "roots").mkdir()
    (room / "roots").chmod(0o711)
    for source, name in ((init, "init"), (files, "files")):
        shutil.copyfile(source, room / name)
        (room / name).chmod(0o555)
    return room


def _mount_tmpfs(path: Path, *, mode: str, flags: int) -> None:
    path.mkdir(parents=True, exist_ok=True)
    with explained(f"mount a private tmpfs on {path}"):
        context = _native.fsopen("tmpfs")
        try:
            _native.fsconfig_string(context, "mode", mode)
            _native.fsconfig_create(context)
            mount = _native.fsmount(context, flags)
        finally:
            os.close(context)
        try:
            _native.move_mount(mount, str(path))
        finally:
            os.close(mount)


def _is_tmpfs(path: Path) -> bool:
    """Whether a directory lies on a tmpfs of the node."""
    path.mkdir(mode=0o700, parents=True, exist_ok=True)
    device = path.stat().st_dev
    number = f"{os.major(device)}:{os.minor(device)}"
    return any(entry.device == number and entry.fstype == "tmpfs" for entry in read_mounts())
