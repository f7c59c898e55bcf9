"""Root file systems without a container: image, disk and overlay put together in a chamber.

The parts are the daemon's own (`sandboxd.storage`), so what holds here holds for sandboxes. The
controls need mounts that the daemon would never make; those are made here, by hand.
"""

import contextlib
import fcntl
import os
import struct
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from gate.lines import require
from gate.rig.node import wait_for
from sandboxd import _native
from sandboxd.config import Config
from sandboxd.images.catalog import Catalog, ImageMounts
from sandboxd.kernel.loops import LoopDevices, loops_backed_by
from sandboxd.storage import overlay
from sandboxd.storage.disk import UPPER, WORK, mounted_disk

_GOING_DOWN = 0x8004587D
_NO_LOG_FLUSH = 2
_LOOPS_GONE_WITHIN_S = 10.0
_NO_FLAGS = 0
# The kernel makes `work` inside the work directory, and its marks of what does not fit in there.
_INCOMPATIBLE = Path(WORK) / "work" / "incompat"


@dataclass(frozen=True, slots=True, kw_only=True)
class Stack:
    """What every mount of a chamber shares. `lower` is the image's detached mount."""

    place: Path
    loops: LoopDevices
    lower: int
    ids: overlay.IdRange
    by_descriptor: bool

    @property
    def writer_id(self) -> int:
        """User and group that own what is made in an overlay of the daemon's kind."""
        return self.ids.first


@dataclass(frozen=True, slots=True, kw_only=True)
class MountedRoot:
    """A root file system at `path`; `disk` is the root directory of the disk below it."""

    path: Path
    disk: int

    def cut_power(self) -> None:
        """Shuts the disk's file system down at once; its log is not flushed."""
        fcntl.ioctl(self.disk, _GOING_DOWN, struct.pack("I", _NO_LOG_FLUSH))


def open_stack(place: Path, images: Path, digest: str, config: Config) -> Stack:
    """The stack on an image that a node has imported. `place` takes the mount points."""
    devices = os.open("/dev", os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    loops = LoopDevices(host_devices=devices)
    by_descriptor = not config.layers_by_path
    return Stack(
        place=place,
        loops=loops,
        lower=ImageMounts(Catalog(images), loops).lower(digest),
        ids=overlay.IdRange(first=config.first_host_id),
        by_descriptor=by_descriptor,
    )


@contextlib.contextmanager
def opened_disk(stack: Stack, image: Path) -> Iterator[int]:
    """The detached mount of a disk image; its loop device is gone when the block has ended."""
    descriptor = os.open(image, os.O_RDWR | os.O_CLOEXEC)
    try:
        with mounted_disk(descriptor, loops=stack.loops) as root:
            yield root
    finally:
        os.close(descriptor)
        gone = wait_for(lambda: not loops_backed_by(image), within_s=_LOOPS_GONE_WITHIN_S)
    require(gone, "the loop device of the disk stays")


@contextlib.contextmanager
def mounted_root(stack: Stack, image: Path, *, name: str = "root") -> Iterator[MountedRoot]:
    """A root file system as the daemon mounts it."""
    target = stack.place / name
    target.mkdir(exist_ok=True)
    with opened_disk(stack, image) as disk:
        layers = overlay.Layers(lower=stack.lower, disk=disk)
        overlay.mount_overlay(layers, target, ids=stack.ids, by_descriptor=stack.by_descriptor)
        with _below(disk) as directory:
            try:
                yield MountedRoot(path=target, disk=directory)
            finally:
                overlay.unmount(target)


@contextlib.contextmanager
def volatile_root(stack: Stack, image: Path) -> Iterator[MountedRoot]:
    """A root file system mounted `volatile`: fsync does nothing. The daemon refuses this."""
    target = stack.place / "volatile"
    target.mkdir(exist_ok=True)
    with opened_disk(stack, image) as disk:
        options = (*overlay.OPTIONS, ("volatile", ""))
        with _attached(stack, disk, options) as mount:
            _native.move_mount(mount, str(target))
        with _below(disk) as directory:
            try:
                yield MountedRoot(path=target, disk=directory)
            finally:
                overlay.unmount(target)


@contextlib.contextmanager
def _attached(stack: Stack, disk: int, options: tuple[tuple[str, str], ...]) -> Iterator[int]:
    """An overlay made by hand, its layers named by path and not idmapped."""
    lower, upper = stack.place / "hand-lower", stack.place / "hand-disk"
    with contextlib.ExitStack() as opened:
        for mount, path in ((stack.lower, lower), (disk, upper)):
            path.mkdir(exist_ok=True)
            copy = _native.open_tree_clone(mount, "")
            opened.callback(os.close, copy)
            _native.move_mount(copy, str(path))
            opened.callback(_native.umount2, str(path), _native.MNT_DETACH)
        context = _native.fsopen("overlay")
        opened.callback(os.close, context)
        _native.fsconfig_string(context, "lowerdir", str(lower))
        _native.fsconfig_string(context, "upperdir", str(upper / UPPER))
        _native.fsconfig_string(context, "workdir", str(upper / WORK))
        for key, value in options:
            if value:
                _native.fsconfig_string(context, key, value)
            else:
                _native.fsconfig_flag(context, key)
        _native.fsconfig_create(context)
        made = _native.fsmount(context, _NO_FLAGS)
        opened.callback(os.close, made)
        yield made


def forget_volatile(stack: Stack, image: Path) -> None:
    """Removes the mark that keeps a volatile upper layer from being mounted again."""
    with opened_disk(stack, image) as disk, _below(disk) as directory:
        with contextlib.suppress(FileNotFoundError):
            os.rmdir(_INCOMPATIBLE / "volatile", dir_fd=directory)
        with contextlib.suppress(FileNotFoundError):
            os.rmdir(_INCOMPATIBLE, dir_fd=directory)


@contextlib.contextmanager
def _below(disk: int) -> Iterator[int]:
    """The disk's root as an ordinary descriptor, which ioctl takes."""
    directory = os.open(".", os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC, dir_fd=disk)
    try:
        yield directory
    finally:
        os.close(directory)
