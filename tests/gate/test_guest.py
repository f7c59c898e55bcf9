"""The guest of the gate: which kernel, which modules and when, and what its RAM disk holds."""

import shutil
import subprocess
from pathlib import Path

import pytest

from gate.lines import NotRun
from gate.power.guest import find_kernel, initial_disk

BUSYBOX = Path("/bin/busybox")


def add_module(tree: Path, name: str, needs: str = "") -> None:
    tree.mkdir(parents=True, exist_ok=True)
    (tree / f"{name}.ko").write_bytes(
        b"\0name=" + name.encode() + b"\0depends=" + needs.encode() + b"\0"
    )


@pytest.fixture
def root(tmp_path: Path) -> Path:
    (tmp_path / "boot").mkdir()
    for version in ("6.1.0", "6.9.0", "7.0.0"):
        (tmp_path / f"boot/vmlinuz-{version}").write_bytes(b"kernel")
    modules = tmp_path / "lib/modules/6.9.0/kernel"
    add_module(modules, "virtio-pci", "virtio-ring,virtio")
    add_module(modules, "virtio", "virtio-ring")
    add_module(modules, "virtio-ring")
    add_module(modules, "xfs", "libcrc32c")
    add_module(modules, "libcrc32c")
    add_module(tmp_path / "lib/modules/6.1.0", "xfs")
    return tmp_path


def test_the_newest_kernel_that_has_modules_is_taken(root: Path) -> None:
    assert find_kernel(root).image.name == "vmlinuz-6.9.0"


def test_without_a_kernel_the_line_is_not_run_and_says_what_to_install(tmp_path: Path) -> None:
    with pytest.raises(NotRun, match="apt install"):
        find_kernel(tmp_path)


@pytest.mark.skipif(shutil.which("busybox") is None, reason="busybox is not installed")
def test_the_ram_disk_holds_each_module_once_after_those_it_needs(
    root: Path, tmp_path: Path
) -> None:
    disk = initial_disk(find_kernel(root), BUSYBOX, writer=root / "boot/vmlinuz-6.9.0")
    unpacked = tmp_path / "unpacked"
    unpacked.mkdir()

    subprocess.run(
        [BUSYBOX, "cpio", "-id"], input=disk, cwd=unpacked, check=True, capture_output=True
    )

    loaded = [
        file.read_bytes().split(b"\0")[1].removeprefix(b"name=").decode()
        for file in sorted((unpacked / "modules").iterdir())
    ]
    assert loaded == ["virtio-ring", "virtio", "virtio-pci", "libcrc32c", "xfs"]
    assert (unpacked / "bin/busybox").read_bytes() == BUSYBOX.read_bytes()
    assert (unpacked / "init").stat().st_mode & 0o777 == 0o755
    assert "index=on,redirect_dir=on" in (unpacked / "init").read_text("utf-8")
