"""Puts the image (lower) and the sandbox's disk (upper, work) together as one root file system.

Kernel defaults break hard links and directory renames, so `index=on,redirect_dir=on` are asked
for and, after the mount, looked up in mountinfo: the kernel may drop them or turn the mount
read-only without an error.
"""

import contextlib
import os
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from sandboxd import _native
from sandboxd.faults import Misconfigured, OutcomeUnknown
from sandboxd.kernel.mountinfo import mounts_below
from sandboxd.kernel.steps import explained, kernel_words, wait_until
from sandboxd.storage.disk import UPPER, WORK

OPTIONS = (("index", "on"), ("redirect_dir", "on"), ("metacopy", "off"))
_REQUIRED = frozenset({"rw", "index=on", "redirect_dir=on", "nosuid", "nodev"})
_FORBIDDEN = frozenset({"ro", "volatile", "fsync=volatile", "metacopy=on", "userxattr"})
_ROOT_FLAGS = _native.MOUNT_ATTR_NOSUID | _native.MOUNT_ATTR_NODEV
_UMOUNT_WITHIN_S = 5.0


@dataclass(frozen=True, slots=True, kw_only=True)
class IdRange:
    """Host ids that stand for ids 0 to count-1 of one sandbox while it is mounted."""

    first: int
    count: int = 65536


@dataclass(frozen=True, slots=True, kw_only=True)
class Layers:
    """Descriptors of the detached mounts to be put together."""

    lower: int
    disk: int


def mount_overlay(layers: Layers, target: Path, *, ids: IdRange, by_descriptor: bool) -> None:
    """Mounts the root file system at `target`, idmapped so that the disk holds plain ids.

    `by_descriptor` is the way of Linux 6.15 and later; without it the layers are attached for a
    moment and named by path. Raises: Retryable, Misconfigured (the kernel dropped an option).
    """
    with _idmapped(layers, ids) as mapped, explained("mount the overlay"):
        mount = _by_descriptor(mapped, ids) if by_descriptor else _by_path(mapped, target, ids)
        try:
            _native.move_mount(mount, str(target))
        finally:
            os.close(mount)
    try:
        verify_overlay(target)
    except Misconfigured:
        unmount(target)
        raise


@contextlib.contextmanager
def _idmapped(layers: Layers, ids: IdRange) -> Iterator[Layers]:
    with contextlib.ExitStack() as opened, explained("map the ids of the layers"):
        namespace = _native.user_namespace(ids.first, ids.count)
        opened.callback(os.close, namespace)
        copies = []
        for mount in (layers.lower, layers.disk):
            copy = _native.open_tree_clone(mount, "")
            opened.callback(os.close, copy)
            _native.mount_idmap(copy, namespace)
            copies.append(copy)
        yield Layers(lower=copies[0], disk=copies[1])


def _by_descriptor(layers: Layers, ids: IdRange) -> int:
    with contextlib.ExitStack() as opened:
        context = _native.fsopen("overlay")
        opened.callback(os.close, context)
        _native.fsconfig_fd(context, "lowerdir+", layers.lower)
        for key, name in (("upperdir", UPPER), ("workdir", WORK)):
            directory = os.open(name, os.O_PATH | os.O_DIRECTORY | os.O_CLOEXEC, dir_fd=layers.disk)
            opened.callback(os.close, directory)
            _native.fsconfig_fd(context, key, directory)
        return _finish(context, ids)


def _by_path(layers: Layers, target: Path, ids: IdRange) -> int:
    """The layers hang below `target` only until the overlay holds its own references."""
    lower, disk = target / "lower", target / "disk"
    with contextlib.ExitStack() as opened:
        for mount, path in ((layers.lower, lower), (layers.disk, disk)):
            path.mkdir(mode=0o700)
            opened.callback(path.rmdir)
            _native.move_mount(mount, str(path))
            opened.callback(_native.umount2, str(path), _native.MNT_DETACH)
        context = _native.fsopen("overlay")
        opened.callback(os.close, context)
        _native.fsconfig_string(context, "lowerdir", str(lower))
        _native.fsconfig_string(context, "upperdir", str(disk / UPPER))
        _native.fsconfig_string(context, "workdir", str(disk / WORK))
        return _finish(context, ids)


def _finish(context: int, ids: IdRange) -> int:
    _native.fsconfig_string(context, "source", "sandbox")
    for key, value in OPTIONS:
        _native.fsconfig_string(context, key, value)
    # The overlay acts with this thread's credentials for ever. Ids that the layers do not map
    # would make the kernel fall back to a read-only mount without an index.
    _native.fsconfig_create_as(context, ids.first, ids.first)
    return _native.fsmount(context, _ROOT_FLAGS)


def verify_overlay(target: Path) -> None:
    """Raises Misconfigured unless mountinfo shows exactly what was asked for."""
    entries = [entry for entry in mounts_below(str(target)) if entry.path == str(target)]
    if len(entries) != 1 or entries[0].fstype != "overlay":
        raise Misconfigured("the root file system is not mounted once")
    options = entries[0].options | entries[0].super_options
    missing, wrong = _REQUIRED - options, _FORBIDDEN & options
    if missing or wrong:
        raise Misconfigured(
            f"the kernel mounted the overlay without {sorted(missing)} and with {sorted(wrong)}",
            remedy="run sandboxd doctor",
            kernel=kernel_words(),
        )


def is_mounted(target: Path) -> bool:
    """Whether something is mounted at `target`."""
    return any(entry.path == str(target) for entry in mounts_below(str(target)))


def unmount(target: Path) -> None:
    """Unmounts `target`; returns when the mount is gone.

    A lazy unmount would hide users of the disk, so a busy one is waited for.
    Raises: OutcomeUnknown when it stays busy.
    """

    def is_gone() -> bool:
        with contextlib.suppress(_native.StepError):
            _native.umount2(str(target), 0)
        return not is_mounted(target)

    if not wait_until(is_gone, within_s=_UMOUNT_WITHIN_S):
        raise OutcomeUnknown(
            "the root file system stays busy",
            remedy="a process outside the sandbox holds a file of it: see `sandboxd doctor`",
        )
