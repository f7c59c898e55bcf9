"""Images are believed only as far as their digests go, and unpacked as hostile input."""

import contextlib
import hashlib
import json
import platform
import tarfile
from pathlib import Path

import pytest

from sandboxd.faults import NotFound, Refused
from sandboxd.images.catalog import Catalog
from sandboxd.images.demo import build_demo_layout
from sandboxd.images.layout import read_layout
from sandboxd.images.unpack import UnpackLimits
from tests.sandboxd.client import Answered, Box
from tests.sandboxd.layouts import (
    LIMITS,
    Fill,
    add,
    layer,
    write_layout,
)
from tests.sandboxd.process import Daemon

pytestmark = pytest.mark.root


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


def test_an_import_tells_how_far_it_is(catalog: Catalog, layout: Path) -> None:
    told: list[tuple[str, int, int]] = []

    catalog.import_layout(
        layout, wanted=None, limits=UnpackLimits(), progress=lambda *step: told.append(step)
    )

    assert [what for what, _, _ in told if what != "unpack"] == ["squash", "squash"]
    last = [step for step in told if step[0] == "unpack"][-1]
    assert 0 < last[1] == last[2]
