"""One fixed-size XFS disk for each sandbox: its storage limit and the home of its upper layer.

The image file is allocated whole, never sparse, so a full node cannot turn into write errors
inside a sandbox. `up/` and `wk/` belong together: work/index is part of the persistent state.
"""

import contextlib
import fcntl
import os
from collections.abc import Iterator
from pathlib import Path

from sandboxd import _native
from sandboxd.faults import Busy, Retryable
from sandboxd.kernel.children import CHILDREN
from sandboxd.kernel.loops import LoopDevices
from sandboxd.kernel.steps import explained
from sandboxd.milestones import reached
from sandboxd.storage import door

UPPER = "up"
WORK = "wk"
_MKFS_WITHIN_S = 60.0
_HARDENED = (
    _native.MOUNT_ATTR_NOSUID
    | _native.MOUNT_ATTR_NODEV
    | _native.MOUNT_ATTR_NOEXEC
    | _native.MOUNT_ATTR_NOATIME
)


def create_disk(image: Path, *, size_bytes: int, loops: LoopDevices) -> None:
    """Makes the disk with both directories; it is durable when this returns.

    Raises: Retryable (no space, mkfs failed). The caller removes what is left.
    """
    with door.step("disk image", "make"):
        descriptor = os.open(image, os.O_RDWR | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o600)
    try:
        with door.step("disk image", "write"):
            _native.fallocate(descriptor, size_bytes)
        reached("disk allocated")
        _make_file_system(image)
        with mounted_disk(descriptor, loops=loops) as root, explained("fill the disk"):
            Path(f"/proc/self/fd/{root}").chmod(0o700)
            for name, mode in ((UPPER, 0o755), (WORK, 0o700)):
                os.mkdir(name, dir_fd=root)
                os.chmod(name, mode, dir_fd=root)  # Whatever the umask is.
            _sync(root)
        with door.step("disk image", "sync"):
            os.fsync(descriptor)
        door.sync_directory("disk image", image.parent)
    finally:
        os.close(descriptor)


def _make_file_system(image: Path) -> None:
    made = CHILDREN.run(("mkfs.xfs", "-q", str(image)), within_s=_MKFS_WITHIN_S)
    if made.status != 0:
        raise Retryable("mkfs.xfs failed", remedy="run sandboxd doctor", kernel=made.last_words)


@contextlib.contextmanager
def mounted_disk(image: int, *, loops: LoopDevices) -> Iterator[int]:
    """The disk's root as the descriptor of a detached mount; closed, it is unmounted.

    An overlay made from it keeps the file system and the loop device alive by itself.
    """
    with loops.attached(image, read_only=False) as device, explained("mount the disk"):
        mount = mount_device("xfs", device, _HARDENED)
    try:
        yield mount
    finally:
        os.close(mount)


def mount_device(fstype: str, device: str, attributes: int) -> int:
    """Mounts a block device without attaching it anywhere. Returns the mount's descriptor."""
    context = _native.fsopen(fstype)
    try:
        _native.fsconfig_string(context, "source", device)
        if attributes & _native.MOUNT_ATTR_RDONLY:
            _native.fsconfig_flag(context, "ro")
        _native.fsconfig_create(context)
        return _native.fsmount(context, attributes)
    finally:
        os.close(context)


def _sync(root: int) -> None:
    directory = os.open(".", os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC, dir_fd=root)
    try:
        with explained("sync the file system"):
            _native.syncfs(directory)
    finally:
        os.close(directory)


def lock_disk(lock: Path) -> int:
    """Takes the sandbox's lock file for this process; the descriptor holds it.

    Raises: Busy when another daemon has it, Retryable.
    """
    descriptor = door.open_lock("disk lock", lock)
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError as error:
        os.close(descriptor)
        raise Busy(
            "the disk is locked by another process",
            remedy="only one sandboxd may use a state directory",
        ) from error
    return descriptor
