"""Images are believed only as far as their digests go, and unpacked as hostile input."""

import contextlib
import gzip
import hashlib
import io
import json
import platform
import shutil
import stat
import subprocess
import tarfile
from collections.abc import Callable
from pathlib import Path
from typing import Literal

import pytest

from sandboxd.faults import NotFound, Refused
from sandboxd.images.catalog import Catalog
from sandboxd.images.demo import build_demo_layout
from sandboxd.images.layout import read_layout
from sandboxd.images.unpack import UnpackLimits, unpack_layers
from tests.sandboxd.client import Answered, Box
from tests.sandboxd.process import Daemon

pytestmark = pytest.mark.root
LIMITS = UnpackLimits(total_bytes=10_000_000, entries=1000, file_bytes=5_000_000)
Fill = Callable[[tarfile.TarFile], object]


def add(archive: tarfile.TarFile, name: str, content: bytes = b"", **fields: object) -> object:
    entry = tarfile.TarInfo(name)
    entry.size = len(content)
    for field, value in fields.items():
        setattr(entry, field, value)
    archive.addfile(entry, io.BytesIO(content))
    return entry


def layer(fill: Fill) -> bytes:
    buffer = io.BytesIO()
    with tarfile.open(fileobj=buffer, mode="w", format=tarfile.PAX_FORMAT) as archive:
        fill(archive)
    return buffer.getvalue()


def zstd(raw: bytes) -> bytes:
    return subprocess.run(["zstd", "-c"], input=raw, capture_output=True, check=True).stdout


PACKINGS: dict[str, Callable[[bytes], bytes]] = {
    "tar": bytes,
    "tar+gzip": gzip.compress,
    "tar+zstd": zstd,
}


def write_layout(
    directory: Path,
    *tars: bytes,
    diff_ids: list[str] | None = None,
    packing: str = "tar+gzip",
) -> Path:
    def store(kind: str, raw: bytes) -> dict[str, object]:
        name = hashlib.sha256(raw).hexdigest()
        (directory / "blobs" / "sha256" / name).write_bytes(raw)
        kind = f"application/vnd.oci.image.{kind}"
        return {"mediaType": kind, "digest": f"sha256:{name}", "size": len(raw)}

    (directory / "blobs" / "sha256").mkdir(parents=True)
    given = diff_ids or [f"sha256:{hashlib.sha256(tar).hexdigest()}" for tar in tars]
    config = json.dumps({"rootfs": {"type": "layers", "diff_ids": given}}).encode()
    manifest = {
        "schemaVersion": 2,
        "mediaType": "application/vnd.oci.image.manifest.v1+json",
        "config": store("config.v1+json", config),
        "layers": [store(f"layer.v1.{packing}", PACKINGS[packing](tar)) for tar in tars],
    }
    described = store("manifest.v1+json", json.dumps(manifest).encode())
    index = {"schemaVersion": 2, "manifests": [described]}
    (directory / "index.json").write_text(json.dumps(index))
    (directory / "oci-layout").write_text('{"imageLayoutVersion": "1.0.0"}')
    return directory


@pytest.fixture
def catalog(tmp_path: Path, needs_node: None) -> Catalog:
    return Catalog(tmp_path / "images")


def test_the_demo_image_has_the_same_digest_each_time(tmp_path: Path, needs_node: None) -> None:
    first = build_demo_layout(tmp_path / "one")

    assert build_demo_layout(tmp_path / "two") == first


def test_a_flipped_byte_in_a_layer_is_refused(layout: Path, tmp_path: Path) -> None:
    copy = tmp_path / "layout"
    _copy(layout, copy)
    blob = max((copy / "blobs" / "sha256").iterdir(), key=lambda file: file.stat().st_size)
    raw = bytearray(blob.read_bytes())
    raw[len(raw) // 2] ^= 1
    blob.write_bytes(raw)

    with pytest.raises(Refused, match="does not match its digest"):
        read_layout(copy)


def _copy(source: Path, target: Path) -> None:
    for file in source.rglob("*"):
        if file.is_file():
            (target / file.relative_to(source)).parent.mkdir(parents=True, exist_ok=True)
            (target / file.relative_to(source)).write_bytes(file.read_bytes())


def test_a_layer_that_does_not_match_its_diff_id_is_refused(
    catalog: Catalog, tmp_path: Path
) -> None:
    tar = layer(lambda archive: add(archive, "file", b"x"))
    directory = write_layout(tmp_path / "layout", tar, diff_ids=[f"sha256:{'0' * 64}"])

    with pytest.raises(Refused, match="diff_id"):
        catalog.import_layout(directory, wanted=None, limits=LIMITS)


@pytest.mark.parametrize(
    ("fill", "reason"),
    [
        (lambda a: add(a, "../outside", b"x"), "leads upwards"),
        (lambda a: add(a, "a/../../outside", b"x"), "leads upwards"),
        (lambda a: add(a, "x" * 256, b"x"), "too long"),
        (lambda a: add(a, "/".join("d" * 200), b"x"), "too deep"),
        (lambda a: add(a, "disk", type=tarfile.BLKTYPE, devmajor=254), "device node"),
        (lambda a: add(a, "file", b"x", uid=70_000), "owner"),
        (lambda a: add(a, "link", type=tarfile.LNKTYPE, linkname="nothing"), "hard link"),
        (lambda a: add(a, "big", b"x" * 6_000_000), "larger than allowed"),
        (lambda a: [add(a, f"f{n}") for n in range(1001)], "more than allowed"),
        (
            lambda a: add(a, "f", pax_headers={"SCHILY.xattr.trusted.overlay.opaque": "y"}),
            "trusted attributes",
        ),
    ],
)
def test_a_hostile_layer_is_refused(
    catalog: Catalog, tmp_path: Path, fill: Fill, reason: str
) -> None:
    directory = write_layout(tmp_path / "layout", layer(fill))

    with pytest.raises(Refused, match=reason):
        catalog.import_layout(directory, wanted=None, limits=LIMITS)

    assert catalog.list() == ()
    assert list((tmp_path / "images").glob("*.squashfs")) == []


def unpacked(directory: Path, tree: Path, limits: UnpackLimits = LIMITS) -> Path:
    tree.mkdir()
    unpack_layers(read_layout(directory).layers, tree, limits)
    return tree


@pytest.mark.skipif(shutil.which("zstd") is None, reason="zstd is not installed")
@pytest.mark.parametrize("packing", list(PACKINGS))
def test_layers_of_every_packing_give_the_same_files(tmp_path: Path, packing: str) -> None:
    tars = [layer(lambda a, n=n: add(a, f"file-{n}", b"x" * 100_000)) for n in range(3)]

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
    tars = [layer(lambda a, n=n: add(a, f"f{n}", bytes([n]) * 4_000_000)) for n in range(3)]

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
            add(a, "s", type=tarfile.SYMTYPE, linkname="/etc/shadow"),
            add(a, "hard", type=tarfile.LNKTYPE, linkname="s"),
        ],
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


@pytest.mark.parametrize("kind", [tarfile.GNUTYPE_LONGNAME, tarfile.XHDTYPE])
def test_a_header_that_claims_to_be_enormous_is_refused(tmp_path: Path, kind: bytes) -> None:
    entry = tarfile.TarInfo("header")
    entry.type, entry.size = kind, 7 * 1024**3
    raw = entry.tobuf(tarfile.GNU_FORMAT) + b"\0" * 10_240

    with pytest.raises(Refused, match="cannot be unpacked"):
        unpacked(write_layout(tmp_path / "layout", raw), tmp_path / "tree")


def test_an_index_for_several_platforms_leads_to_this_machines_image(tmp_path: Path) -> None:
    directory = write_layout(tmp_path / "layout", layer(lambda a: add(a, "file", b"x")))
    (manifest,) = json.loads((directory / "index.json").read_bytes())["manifests"]
    machine = {"x86_64": "amd64", "aarch64": "arm64"}[platform.machine()]
    others = [manifest | {"platform": {"os": os, "architecture": machine}} for os in ("windows",)]
    fitting = manifest | {"platform": {"os": "linux", "architecture": machine}}
    raw = json.dumps({"manifests": [*others, fitting]}).encode()
    name = hashlib.sha256(raw).hexdigest()
    (directory / "blobs/sha256" / name).write_bytes(raw)
    index = {"mediaType": "application/vnd.oci.image.index.v1+json", "digest": f"sha256:{name}"}
    top = {"manifests": [index | {"size": len(raw)}]}
    (directory / "index.json").write_text(json.dumps(top))

    image = read_layout(directory, wanted=f"sha256:{name}")

    assert image.digest == manifest["digest"]


@pytest.mark.parametrize("field", ["config", "layers", "rootfs"])
def test_documents_of_another_shape_are_refused(tmp_path: Path, field: str) -> None:
    directory = tmp_path / "layout"
    blobs = directory / "blobs/sha256"
    blobs.mkdir(parents=True)

    def store(document: object) -> dict[str, object]:
        raw = json.dumps(document).encode()
        name = hashlib.sha256(raw).hexdigest()
        (blobs / name).write_bytes(raw)
        return {"digest": f"sha256:{name}", "size": len(raw)}

    config = store({"rootfs": 7} if field == "rootfs" else {"rootfs": {"diff_ids": []}})
    manifest: dict[str, object] = {"config": config, "layers": []} | (
        {field: 7} if field != "rootfs" else {}
    )
    (directory / "index.json").write_text(json.dumps({"manifests": [store(manifest)]}))

    with pytest.raises(Refused):
        read_layout(directory)


def test_a_symbolic_link_in_a_layer_cannot_lead_the_unpacker_to_the_node(
    catalog: Catalog, tmp_path: Path
) -> None:
    outside = tmp_path / "outside"
    outside.mkdir()

    def fill(archive: tarfile.TarFile) -> None:
        add(archive, "door", type=tarfile.SYMTYPE, linkname=str(outside))
        add(archive, "door/planted", b"x")

    directory = write_layout(tmp_path / "layout", layer(fill))
    with contextlib.suppress(Refused):
        catalog.import_layout(directory, wanted=None, limits=LIMITS)

    assert list(outside.iterdir()) == []


def test_a_layer_bomb_is_stopped(catalog: Catalog, tmp_path: Path) -> None:
    tar = layer(lambda archive: [add(archive, f"f{n}", b"\0" * 4_000_000) for n in range(5)])
    directory = write_layout(tmp_path / "layout", tar)

    with pytest.raises(Refused, match="more than allowed"):
        catalog.import_layout(directory, wanted=None, limits=LIMITS)


def test_whiteouts_remove_what_lower_layers_brought(
    layout: Path, tmp_path: Path, daemon: Daemon
) -> None:
    def lower(archive: tarfile.TarFile) -> None:
        add(archive, "bin", type=tarfile.DIRTYPE, mode=0o755)
        add(archive, "bin/busybox", Path("/bin/busybox").read_bytes(), mode=0o755)
        for name in ("gone", "kept", "emptied/old", "sub/file"):
            add(archive, name, b"lower")
        for name in ("proc", "sys", "dev"):
            add(archive, name, type=tarfile.DIRTYPE, mode=0o755)

    def upper(archive: tarfile.TarFile) -> None:
        add(archive, ".wh.gone")
        add(archive, "emptied/new", b"upper")
        add(archive, "emptied/.wh..wh..opq")
        add(archive, "kept-link", type=tarfile.LNKTYPE, linkname="kept")

    directory = write_layout(tmp_path / "layout", layer(lower), layer(upper))
    imported = daemon.command("image", "import", str(directory))
    assert imported.returncode == 0, imported.stderr
    client = daemon.client
    client.epoch = client.health().epoch or 1
    box = Box(client, client.create("box", json.loads(imported.stdout)["digest"]))

    listed = box.run("/bin/busybox", "ls", "/", "/emptied", "/sub").stdout.decode().split()
    links = box.run("/bin/busybox", "stat", "-c", "%h", "/kept").stdout

    assert "gone" not in listed
    assert "old" not in listed
    assert {"kept", "new", "file"} <= set(listed)
    assert links == b"2\n"


def test_an_image_that_is_not_in_the_layout_is_not_found(layout: Path) -> None:
    with pytest.raises(NotFound):
        read_layout(layout, wanted=f"sha256:{'0' * 64}")


def test_importing_twice_keeps_the_first(catalog: Catalog, layout: Path) -> None:
    first = catalog.import_layout(layout, wanted=None, limits=UnpackLimits())

    assert catalog.import_layout(layout, wanted=None, limits=UnpackLimits()) == first
    assert [held.digest for held in catalog.list()] == [first.digest]


def test_a_changed_squashfs_is_never_mounted(daemon: Daemon, image: str, box: Box) -> None:
    squashfs = daemon.state / "images" / f"{image.removeprefix('sha256:')}.squashfs"
    original = squashfs.read_bytes()
    changed = bytearray(original)
    changed[len(changed) // 2] ^= 1
    daemon.stop()  # A running daemon has verified and mounted it already.
    squashfs.write_bytes(changed)
    daemon.start()

    try:
        with pytest.raises(Answered) as caught:
            box.run("/bin/true")
    finally:
        squashfs.write_bytes(original)

    assert caught.value.answer.error == "misconfigured"
    assert "not the one that was imported" in caught.value.answer.message
    assert box.run("/bin/true").exit_code == 0
