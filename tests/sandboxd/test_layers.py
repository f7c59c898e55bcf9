"""Layers are hostile input: what unpacks, what is refused, and that nothing outside is touched."""

import os
import shutil
import stat
import tarfile
from pathlib import Path
from typing import Literal

import pytest

from sandboxd.faults import Refused
from sandboxd.images.unpack import UnpackLimits
from tests.sandboxd.layouts import PACKINGS, Fill, add, layer, one_file, unpacked, write_layout

pytestmark = pytest.mark.root


@pytest.mark.skipif(shutil.which("zstd") is None, reason="zstd is not installed")
@pytest.mark.parametrize("packing", list(PACKINGS))
def test_layers_of_every_packing_give_the_same_files(tmp_path: Path, packing: str) -> None:
    tars = [one_file(f"file-{n}", b"x" * 100_000) for n in range(3)]

    directory = write_layout(tmp_path / "layout", *tars, packing=packing)
    tree = unpacked(directory, tmp_path / "tree")

    assert sorted(file.name for file in tree.iterdir()) == ["file-0", "file-1", "file-2"]
    assert (tree / "file-2").read_bytes() == b"x" * 100_000


@pytest.mark.skipif(shutil.which("zstd") is None, reason="zstd is not installed")
@pytest.mark.parametrize("packing", list(PACKINGS))
def test_a_damaged_or_endless_layer_is_refused_whatever_its_packing(
    tmp_path: Path, packing: str
) -> None:
    bomb = layer(lambda archive: [add(archive, f"f{n}", b"\0" * 4_000_000) for n in range(5)])
    torn = layer(lambda archive: add(archive, "f", b"x" * 100_000))[:50_000]

    with pytest.raises(Refused, match="more than allowed"):
        unpacked(write_layout(tmp_path / "bomb", bomb, packing=packing), tmp_path / "one")
    with pytest.raises(Refused, match="cannot be unpacked"):
        unpacked(write_layout(tmp_path / "torn", torn, packing=packing), tmp_path / "two")


def test_bytes_are_counted_over_all_layers(tmp_path: Path) -> None:
    tars = [one_file(f"f{n}", bytes([n]) * 4_000_000) for n in range(3)]

    with pytest.raises(Refused, match="more than allowed"):
        unpacked(write_layout(tmp_path / "layout", *tars), tmp_path / "tree")


@pytest.mark.parametrize(("policy", "mode"), [("keep", 0o6755), ("strip", 0o755), ("refuse", None)])
def test_set_id_files_are_kept_stripped_or_refused(
    tmp_path: Path, policy: Literal["keep", "strip", "refuse"], mode: int | None
) -> None:
    def fill(archive: tarfile.TarFile) -> None:
        add(archive, "shared", type=tarfile.DIRTYPE, mode=0o2775)
        add(archive, "shared/su", b"x", mode=0o6755)

    directory = write_layout(tmp_path / "layout", layer(fill))
    limits = UnpackLimits(set_id_bits=policy)

    if mode is None:
        with pytest.raises(Refused, match="set-user-id"):
            unpacked(directory, tmp_path / "tree", limits)
    else:
        tree = unpacked(directory, tmp_path / "tree", limits)
        assert stat.S_IMODE((tree / "shared/su").stat().st_mode) == mode
        assert stat.S_IMODE((tree / "shared").stat().st_mode) == 0o2775


def test_links_that_try_to_leave_the_tree_touch_nothing_outside(tmp_path: Path) -> None:
    outside = tmp_path / "outside"
    outside.write_text("untouched")

    def fill(archive: tarfile.TarFile) -> None:
        add(archive, "up", type=tarfile.SYMTYPE, linkname="../" * 20 + str(outside).lstrip("/"))
        add(archive, "up", b"replaces the link, never what it names")
        add(archive, "dir", type=tarfile.SYMTYPE, linkname="/")
        add(archive, "dir/made", b"x")
        add(archive, "hard", type=tarfile.LNKTYPE, linkname="dir/made")

    tree = unpacked(write_layout(tmp_path / "layout", layer(fill)), tmp_path / "tree")

    assert outside.read_text() == "untouched"
    assert (tree / "up").is_file()
    assert (tree / "made").stat().st_nlink == 2


@pytest.mark.parametrize(
    "fill",
    [
        lambda a: add(a, "hard", type=tarfile.LNKTYPE, linkname="../../../../etc/shadow"),
        lambda a: [
            add(a, "loop", type=tarfile.SYMTYPE, linkname="loop"),
            add(a, "loop/file", b"x"),
        ],
        lambda a: add(a, "s", type=tarfile.SYMTYPE, linkname="x" * 5000),
        lambda a: add(a, "/".join(["d" * 200] * 20), b"x"),
        lambda a: add(a, "char", type=tarfile.CHRTYPE),
        lambda a: add(a, ".", b"the root as a file"),
    ],
)
def test_tricks_with_links_names_and_nodes_are_refused(tmp_path: Path, fill: Fill) -> None:
    with pytest.raises(Refused, match="cannot be unpacked"):
        unpacked(write_layout(tmp_path / "layout", layer(fill)), tmp_path / "tree")


def attributed(
    name: str, attributes: dict[str, str], *, kind: bytes = tarfile.REGTYPE, mode: int = 0o644
) -> Fill:
    headers = {f"SCHILY.xattr.{key}": value for key, value in attributes.items()}
    return lambda archive: add(archive, name, pax_headers=headers, type=kind, mode=mode)


def test_attributes_of_users_are_kept_and_a_later_layer_replaces_them(tmp_path: Path) -> None:
    binary = bytes(range(1, 256)).decode("utf-8", "surrogateescape")
    below = layer(attributed("d", {"user.old": "x"}, kind=tarfile.DIRTYPE, mode=0o755))
    above = layer(attributed("d", {"user.new": "y"}, kind=tarfile.DIRTYPE, mode=0o755))
    file = layer(
        attributed("f", {"user.binary": binary, "security.capability": "root"}, mode=0o400)
    )

    tree = unpacked(write_layout(tmp_path / "layout", below, file, above), tmp_path / "tree")

    assert os.listxattr(tree / "d") == ["user.new"]
    assert os.listxattr(tree / "f") == ["user.binary"]
    assert os.getxattr(tree / "f", "user.binary") == bytes(range(1, 256))


@pytest.mark.parametrize(
    "attributes", [{"trusted.overlay.opaque": "y"}, {"user.large": "x" * 70_000}]
)
def test_attributes_that_are_forged_or_too_large_are_refused(
    tmp_path: Path, attributes: dict[str, str]
) -> None:
    with pytest.raises(Refused, match="attribute"):
        unpacked(
            write_layout(tmp_path / "layout", layer(attributed("f", attributes))), tmp_path / "tree"
        )


@pytest.mark.parametrize("kind", [tarfile.GNUTYPE_LONGNAME, tarfile.XHDTYPE])
def test_a_header_that_claims_to_be_enormous_is_refused(tmp_path: Path, kind: bytes) -> None:
    entry = tarfile.TarInfo("header")
    entry.type, entry.size = kind, 7 * 1024**3
    raw = entry.tobuf(tarfile.GNU_FORMAT) + b"\0" * 10_240

    with pytest.raises(Refused, match="cannot be unpacked"):
        unpacked(write_layout(tmp_path / "layout", raw), tmp_path / "tree")
