"""Loop devices: attaching an image file, and finding who still holds one.

The devices are reached through a descriptor of the host's /dev that the daemon opens before it
covers /dev with its private one.
"""

import contextlib
import errno
import os
from collections.abc import Iterator
from pathlib import Path

from sandboxd import _native
from sandboxd.kernel.steps import explained

_SYS_BLOCK = Path("/sys/block")


class LoopDevices:
    """Attaches files. A device lets go of its file by itself once nothing uses it any more."""

    def __init__(self, *, host_devices: int) -> None:
        self._host_devices = host_devices

    @contextlib.contextmanager
    def attached(self, image: int, *, read_only: bool) -> Iterator[str]:
        """A device path for the open file `image`, to be mounted inside the block.

        Autoclear ends the device with its last mount, also when the daemon is killed. Direct I/O
        keeps the file's pages from being cached twice and passes flushes on to the disk.
        """
        with explained("attach a loop device"):
            device = self._attach(image, read_only=read_only)
        try:
            yield f"/proc/self/fd/{device}"
        finally:
            os.close(device)

    def _attach(self, image: int, *, read_only: bool) -> int:
        flags = _native.LO_FLAGS_AUTOCLEAR
        if read_only:
            return _native.loop_attach(
                self._host_devices, image, flags | _native.LO_FLAGS_READ_ONLY
            )[0]
        try:
            return _native.loop_attach(
                self._host_devices, image, flags | _native.LO_FLAGS_DIRECT_IO
            )[0]
        except _native.StepError as error:
            if error.errno != errno.EINVAL:
                raise
            # The file system of the state directory has no direct I/O.
            return _native.loop_attach(self._host_devices, image, flags)[0]


def loops_backed_by(path: Path) -> tuple[str, ...]:
    """Names of the loop devices whose backing file is `path` or lies below it."""
    wanted = str(path)
    found = []
    for device in _SYS_BLOCK.glob("loop*"):
        with contextlib.suppress(OSError):
            backing = (device / "loop" / "backing_file").read_text(encoding="utf-8").rstrip("\n")
            backing = backing.removesuffix(" (deleted)")
            if backing == wanted or backing.startswith(wanted + "/"):
                found.append(device.name)
    return tuple(sorted(found))
