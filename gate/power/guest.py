"""What a guest needs to boot: a kernel of a distribution, and an initial RAM disk made here.

The disk holds busybox, the writer and the kernel modules in the order in which they need each
other. Its first process mounts a sandbox's disk and image as the daemon does, and lets the writer
write.
"""

import lzma
import re
import stat
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from gate.lines import NotRun
from sandboxd.storage import overlay

_MODULES = ("virtio_pci", "virtio_blk", "crc32c_generic", "xfs", "squashfs", "overlay")
_DIRECTORIES = ("bin", "dev", "proc", "lower", "disk", "root", "run", "modules")
_CONSOLE = (5, 1)
_INIT = """\
#!/bin/busybox sh
export PATH=/bin
busybox mount -t proc none /proc
busybox mount -t devtmpfs none /dev
for module in /modules/*; do busybox insmod $module || echo "broken: $module"; done
busybox mount -t squashfs -o ro /dev/vdb /lower || echo "broken: the image"
busybox mount -t xfs -o noatime,nosuid,nodev,noexec /dev/vda /disk || echo "broken: the disk"
busybox mount -t overlay -o lowerdir=/lower,upperdir=/disk/up,workdir=/disk/wk,{options} \\
  none /root || echo "broken: the overlay"
place=/root/root/$(busybox sed 's/.*gate.place=\\([a-z0-9-]*\\).*/\\1/' /proc/cmdline)
busybox mkdir $place && busybox sync || echo "broken: the directory"
/synced write $place /run/counter &
while :; do echo "acknowledged $(busybox cat /run/counter 2>/dev/null)"; busybox usleep 20000; done
"""


@dataclass(frozen=True, slots=True, kw_only=True)
class Kernel:
    """A kernel and its modules by name."""

    image: Path
    modules: dict[str, Path]


def find_kernel(root: Path) -> Kernel:
    """The newest kernel below `root` that has its modules beside it. Raises: NotRun."""
    for image in sorted(root.glob("boot/vmlinuz-*"), reverse=True):
        tree = root / "lib/modules" / image.name.removeprefix("vmlinuz-")
        modules = {_name_of(file): file for file in tree.rglob("*.ko*")}
        if modules:
            return Kernel(image=image, modules=modules)
    raise NotRun(
        "needs a kernel with its modules for a guest (apt install linux-image-cloud-amd64)"
    )


def _name_of(module: Path) -> str:
    return module.name.partition(".")[0].replace("-", "_")


def initial_disk(kernel: Kernel, busybox: Path, writer: Path) -> bytes:
    """The RAM disk, as a cpio archive of the kind that kernels read (newc)."""
    chosen = ",".join(f"{key}={value}" for key, value in overlay.OPTIONS)
    files = {
        "bin/busybox": busybox.read_bytes(),
        "synced": writer.read_bytes(),
        "init": _INIT.format(options=chosen).encode("ascii"),
    }
    for number, raw in enumerate(_in_order(kernel)):
        files[f"modules/{number:02}.ko"] = raw
    parts = [_entry(name, stat.S_IFDIR | 0o755) for name in _DIRECTORIES]
    parts.append(_entry("dev/console", stat.S_IFCHR | 0o600, device=_CONSOLE))
    parts += [_entry(name, stat.S_IFREG | 0o755, content) for name, content in files.items()]
    return b"".join([*parts, _entry("TRAILER!!!", 0)])


def _in_order(kernel: Kernel) -> Iterator[bytes]:
    """The modules and what they need, the needed ones first; what is built in is left out."""
    seen: set[str] = set()

    def visit(name: str) -> Iterator[bytes]:
        file = kernel.modules.get(name)
        if file is None or name in seen:
            return
        seen.add(name)
        raw = lzma.decompress(file.read_bytes()) if file.suffix == ".xz" else file.read_bytes()
        for needed in _needs_of(raw):
            yield from visit(needed)
        yield raw

    for name in _MODULES:
        yield from visit(name)


def _needs_of(module: bytes) -> list[str]:
    found = re.search(rb"\0depends=([^\0]*)\0", module)
    names = found.group(1).decode("ascii") if found else ""
    return [name.replace("-", "_") for name in names.split(",") if name]


def _entry(
    name: str, mode: int, content: bytes = b"", *, device: tuple[int, int] = (0, 0)
) -> bytes:
    raw = name.encode("ascii") + b"\0"
    numbers = (0, mode, 0, 0, 1, 0, len(content), 0, 0, *device, len(raw), 0)
    head = b"070701" + b"".join(b"%08x" % number for number in numbers) + raw
    return _padded(head) + _padded(content)


def _padded(raw: bytes) -> bytes:
    return raw + b"\0" * (-len(raw) % 4)
