"""Runs the gate, or the sandboxd under it, with one guarantee broken on purpose.

saboteur.py SABOTAGE gate IMAGES TARGET    prints the lines as JSON at the end
saboteur.py SABOTAGE sandboxd ARGUMENTS    is what the gate starts as its daemon
"""

import fcntl
import json
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Protocol

from gate.bench import Depth
from gate.cli import Run
from gate.rig.node import Program
from sandboxd.config import load_config
from sandboxd.images.catalog import Catalog
from sandboxd.images.layout import sha256_of
from sandboxd.runtime import profile
from sandboxd.storage import overlay
from sandboxd.wire import HeldImage

SHALLOW = Depth(
    name="sabotage",
    cuts=3,
    flush_points=4,
    flush_steps=150,
    output_mib=64,
    zombies=1000,
    within_s=60.0,
)
CHOSEN = (
    "image.squashfs",
    "rootfs.options",
    "rootfs.files",
    "rootfs.whiteouts",
    "rootfs.rename",
    "rootfs.permissions",
    "rootfs.hard-links",
    "conflict.",
    "node.",
    "isolation.",
    "escape",
    "power.",
    "control.",
)


class HasFileno(Protocol):
    """An open file."""

    def fileno(self) -> int: ...


def _replace(owner: object, name: str, value: object) -> None:
    """A name that has gone would make the sabotage do nothing, and the test of it worthless."""
    if not hasattr(owner, name):
        raise LookupError(f"{owner} has no {name} any more")
    setattr(owner, name, value)


def nothing(*, is_daemon: bool) -> None:
    """The control of the test itself."""


def index_off(*, is_daemon: bool) -> None:
    """Overlays as the kernel makes them by default."""
    options = tuple(
        ("index", "off") if key == "index" else (key, value) for key, value in overlay.OPTIONS
    )
    _replace(overlay, "OPTIONS", options)
    _replace(overlay, "_REQUIRED", frozenset({"rw", "redirect_dir=on"}))


def volatile(*, is_daemon: bool) -> None:
    """Overlays on which fsync does nothing, where the power is cut."""
    if not is_daemon:
        _replace(overlay, "OPTIONS", (*overlay.OPTIONS, ("fsync", "volatile")))
        _replace(overlay, "_FORBIDDEN", frozenset())


def seccomp_off(*, is_daemon: bool) -> None:
    """Containers without a system-call filter that filters."""
    _replace(profile, "seccomp_profile", lambda: {"defaultAction": "SCMP_ACT_ALLOW"})


def no_flock(*, is_daemon: bool) -> None:
    """A daemon that takes no lock on a disk."""
    lock = fcntl.flock

    def pretend(file: int | HasFileno, operation: int) -> None:
        number = file if isinstance(file, int) else file.fileno()
        if "/sandboxes/" not in str(Path(f"/proc/self/fd/{number}").readlink()):
            lock(number, operation)

    if is_daemon:
        _replace(fcntl, "flock", pretend)


def wrong_squashfs(*, is_daemon: bool) -> None:
    """A daemon that believes any image file."""
    find = Catalog.find

    def believe(self: Catalog, digest: str) -> HeldImage:
        found = sha256_of(self.squashfs(digest))
        return find(self, digest).model_copy(update={"squashfs_sha256": found})

    if is_daemon:
        _replace(Catalog, "find", believe)


SABOTAGES: dict[str, Callable[..., None]] = {
    "nothing": nothing,
    "index-off": index_off,
    "volatile": volatile,
    "seccomp-off": seccomp_off,
    "no-flock": no_flock,
    "wrong-squashfs": wrong_squashfs,
}


def main() -> None:
    sabotage, kind, *arguments = sys.argv[1:]
    SABOTAGES[sabotage](is_daemon=kind == "sandboxd")
    if kind == "sandboxd":
        from sandboxd.cli import main as serve

        sys.argv = ["sandboxd", *arguments]
        serve()
    images, target = map(Path, arguments)
    run = Run(
        depth=SHALLOW,
        config=load_config(None, {}),
        target=target,
        only=CHOSEN,
        images=images,
        program=Program(words=(sys.executable, __file__, sabotage, "sandboxd")),
    )
    run.try_all()
    print(json.dumps({line.key: line.outcome for line in run.lines}))


if __name__ == "__main__":
    main()
