"""Power loss of a whole machine: a guest under QEMU writes in a root file system, and is killed.

Another kernel boots, mounts disk and image of a sandbox, and tells on its serial line how many
files are on the disk. It is killed at a moment of chance, without a word to it; then the disk is
mounted here, as the daemon mounts it, and every file of every boot must be there and whole.
"""

import os
import random
import re
import select
import shutil
import subprocess
import time
from collections.abc import Iterator
from pathlib import Path

from gate.lines import Broken, NotRun, require
from gate.power.cuts import Tally, check_disk, count
from gate.power.guest import find_kernel, initial_disk
from gate.rig.stack import Stack, mounted_root
from sandboxd.storage.disk import create_disk
from sandboxd.wire import MIN_DISK_BYTES

_BUSYBOX = Path("/bin/busybox")
_BOOTS_WITHIN_S = 240.0
_VERIFIES_WITHIN_S = 120
_FILES_OF_A_BOOT = (40, 160)
_CHUNK_BYTES = 65536


def cut_machines(stack: Stack, lower: Path, writer: Path, *, kernels: Path, cuts: int) -> Tally:
    """Boots and kills a guest `cuts` times on one disk. Raises: NotRun without QEMU or kernel."""
    program = shutil.which("qemu-system-x86_64")
    if program is None:
        raise NotRun("needs QEMU (apt install qemu-system-x86)")
    kernel = find_kernel(kernels)
    ram_disk = stack.place / "ram-disk"
    ram_disk.write_bytes(initial_disk(kernel, _BUSYBOX, writer))
    image = stack.place / "disk"
    create_disk(image, size_bytes=MIN_DISK_BYTES, loops=stack.loops)
    boot = (program, "-kernel", str(kernel.image), "-initrd", str(ram_disk))
    tally = Tally(cuts=0, acknowledged=0, violations=0, first=[])
    told: dict[str, int] = {}
    for number in range(cuts):
        place = f"boot-{number}"
        told[place] = _live_and_die((*boot, *_machine(image, lower, place)), seed=number)
        with mounted_root(stack, image) as root:
            count(tally, list(_missing(root.path / "root", writer, told)))
        tally["cuts"] += 1
    count(tally, check_disk(image))
    tally["acknowledged"] = sum(told.values())
    return tally


def _machine(image: Path, lower: Path, place: str) -> tuple[str, ...]:
    """Emulated whole, since no hardware support can be relied on; every write goes to the disk."""
    return (
        *("-append", f"console=ttyS0 quiet panic=-1 gate.place={place}"),
        *("-accel", "tcg,thread=multi", "-cpu", "max", "-m", "256", "-no-reboot"),
        *("-display", "none", "-monitor", "none", "-serial", "stdio", "-nic", "none"),
        *("-drive", f"file={image},format=raw,if=virtio,cache=none"),
        *("-drive", f"file={lower},format=raw,if=virtio,readonly=on"),
    )


def _live_and_die(words: tuple[str, ...], *, seed: int) -> int:
    """Returns how many files the guest had told of when it was killed."""
    wanted = random.Random(seed).randint(*_FILES_OF_A_BOOT)  # noqa: S311 (repeatable, no secret)
    with subprocess.Popen(
        words, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT
    ) as guest:
        try:
            said = _listen(guest, wanted)
        finally:
            guest.kill()
        if guest.stdout is not None:
            said += guest.stdout.read()
    return _acknowledged(said)


def _listen(guest: "subprocess.Popen[bytes]", wanted: int) -> bytes:
    require(guest.stdout, "the guest has no serial line")
    line = guest.stdout.fileno() if guest.stdout is not None else -1
    said, deadline = b"", time.monotonic() + _BOOTS_WITHIN_S
    while _acknowledged(said) < wanted:
        ready = select.select([line], [], [], max(0.0, deadline - time.monotonic()))[0]
        chunk = os.read(line, _CHUNK_BYTES) if ready else b""
        said += chunk
        if not chunk or b"broken:" in said:
            raise Broken(f"the guest does not come so far: {_last_lines(said)}")
    return said


def _last_lines(said: bytes) -> str:
    lines = [x for x in said.decode("utf-8", "replace").splitlines() if x.strip()]
    return " | ".join(line.strip() for line in lines[-4:])


def _acknowledged(said: bytes) -> int:
    """The last whole line counts; a torn one may hold half a number."""
    found = re.findall(rb"acknowledged (\d+)\r?\n", said)
    return int(found[-1]) if found else 0


def _missing(root: Path, writer: Path, told: dict[str, int]) -> Iterator[str]:
    for place, number in told.items():
        words = [str(writer), "verify", str(root / place), str(number)]
        done = subprocess.run(
            words, capture_output=True, text=True, check=False, timeout=_VERIFIES_WITHIN_S
        )
        if done.returncode != 0:
            yield f"file {done.stdout.strip() or '?'} of {place} is not as acknowledged"
