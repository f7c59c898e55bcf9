"""The images that the gate judges by, built offline from the node's static busybox.

The same busybox gives the same bytes, so the digest is fixed. Layers hold what goes wrong in
practice: whiteouts, an opaque directory, hard links inside a layer and across two, owners, modes,
set-user-id, attributes, a FIFO, long names, and a file large enough to be slow to copy up.
"""

import gzip
import hashlib
import io
import json
import platform
import subprocess
import tarfile
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path

from typing_extensions import Buffer

from gate.lines import Broken

LARGE_BYTES = 300 * 1024 * 1024
LONG_NAME = "long-" + "n" * 145
POWER_ITEMS = 240
"""How many lower files and directories of each kind the power-loss writer may use up."""
_CHUNK = b"".join(hashlib.sha256(n.to_bytes(4, "big")).digest() for n in range(128)) * 256
_ARCHITECTURES = {"x86_64": "amd64", "aarch64": "arm64"}
_TAR = "application/vnd.oci.image.layer.v1.tar"


@dataclass(frozen=True, slots=True, kw_only=True)
class Entry:
    """One entry of a layer; directories end with a slash."""

    name: str
    content: bytes = field(default=b"", repr=False)
    repeated: int = 1
    kind: bytes = tarfile.REGTYPE
    target: str = ""
    mode: int = 0o644
    owner: tuple[int, int] = (0, 0)
    attributes: tuple[tuple[str, str], ...] = ()


def directory(name: str, mode: int = 0o755) -> Entry:
    """A directory."""
    return Entry(name=name, kind=tarfile.DIRTYPE, mode=mode)


def hard_link(name: str, target: str) -> Entry:
    """One more name of a file."""
    return Entry(name=name, kind=tarfile.LNKTYPE, target=target)


def large_digest() -> str:
    """SHA-256 of the large file."""
    found = hashlib.sha256()
    for _ in range(LARGE_BYTES // len(_CHUNK)):
        found.update(_CHUNK)
    return found.hexdigest()


def build_gate_image(place: Path) -> str:
    """The image of the gate, as an OCI layout in `place`. Returns its manifest digest."""
    layers = (_base(), _changes(), _power(), _large())
    return write_layout(place, layers, reference="perlica-gate:1", plain={3})


def build_forged_image(place: Path) -> str:
    """An image that brings the overlay's own attributes."""
    forged = Entry(
        name="forged/", kind=tarfile.DIRTYPE, attributes=(("trusted.overlay.opaque", "y"),)
    )
    return write_layout(place, ([forged],), reference="perlica-gate-forged:1", plain=set())


def build_device_image(place: Path) -> str:
    """An image that brings a device node, which policy forbids."""
    node = Entry(name="dev-node", kind=tarfile.CHRTYPE, mode=0o600)
    return write_layout(place, ([node],), reference="perlica-gate-device:1", plain=set())


def _base() -> list[Entry]:
    busybox = Path("/bin/busybox")
    if not busybox.exists():
        raise Broken("/bin/busybox is missing: apt install busybox-static")
    listed = subprocess.run([busybox, "--list"], capture_output=True, check=True, text=True)
    applets = sorted(set(listed.stdout.split()) - {"busybox"})
    program = busybox.read_bytes()
    return [
        *map(directory, ("bin", "dev", "etc", "proc", "root", "run", "sys", "srv", "var")),
        directory("tmp", 0o1777),
        Entry(name="bin/busybox", content=program, mode=0o755),
        *(Entry(name=f"bin/{a}", kind=tarfile.SYMTYPE, target="busybox") for a in applets),
        Entry(name="etc/passwd", content=b"root:x:0:0:root:/root:/bin/sh\n"),
        Entry(name="etc/group", content=b"root:x:0:\n"),
        *map(directory, ("srv/gate", "srv/gate/opaque", "srv/gate/tree", "srv/gate/tree/deep")),
        directory("srv/gate/links"),
        Entry(name="srv/gate/removed", content=b"must go\n"),
        Entry(name="srv/gate/removed-later", content=b"removed in a sandbox\n"),
        Entry(name="srv/gate/overwritten", content=b"first layer\n"),
        Entry(name="srv/gate/opaque/hidden", content=b"must go\n"),
        Entry(name="srv/gate/tree/one", content=b"one\n"),
        Entry(name="srv/gate/tree/deep/two", content=b"two\n"),
        Entry(name="srv/gate/links/one", content=b"linked\n"),
        hard_link("srv/gate/links/two", "srv/gate/links/one"),
        Entry(name="srv/gate/owned", content=b"owned\n", mode=0o640, owner=(1000, 1001)),
        Entry(name="srv/gate/setuid", content=program, mode=0o4755),
        Entry(name="srv/gate/fifo", kind=tarfile.FIFOTYPE, mode=0o600),
        Entry(name="srv/gate/symlink", kind=tarfile.SYMTYPE, target="owned"),
        Entry(name=f"srv/gate/{LONG_NAME}", content=b"long\n"),
        Entry(name="srv/gate/noted", content=b"noted\n", attributes=(("user.gate", "kept"),)),
    ]


def _changes() -> list[Entry]:
    return [
        Entry(name="srv/gate/.wh.removed"),
        Entry(name="srv/gate/opaque/.wh..wh..opq"),
        Entry(name="srv/gate/opaque/shown", content=b"second layer\n"),
        Entry(name="srv/gate/overwritten", content=b"second layer\n"),
        hard_link("srv/gate/links/three", "srv/gate/links/one"),
    ]


def _power() -> list[Entry]:
    """The lower files that the power-loss writer copies up, removes and renames."""
    shared = hashlib.sha256(b"copied up").digest() * 1024
    entries = [
        directory("srv/power", 0o777),
        *(directory(f"srv/power/{kind}", 0o777) for kind in "abcdefgh"),
        Entry(name="srv/power/b/log", content=b"lower\n"),
        Entry(name="srv/power/f/one", content=b"lower\n"),
        hard_link("srv/power/f/two", "srv/power/f/one"),
    ]
    for number in range(POWER_ITEMS):
        entries += [
            Entry(name=f"srv/power/d/{number}", content=b"lower\n"),
            directory(f"srv/power/e/{number}"),
            Entry(name=f"srv/power/e/{number}/inside", content=b"lower\n"),
            Entry(name=f"srv/power/g/{number}", content=shared),
            directory(f"srv/power/h/{number}"),
            Entry(name=f"srv/power/h/{number}/inside", content=b"lower\n"),
        ]
    return entries


def _large() -> list[Entry]:
    times = LARGE_BYTES // len(_CHUNK)
    return [directory("srv/large"), Entry(name="srv/large/file", content=_CHUNK, repeated=times)]


def write_layout(
    place: Path, layers: Iterable[list[Entry]], *, reference: str, plain: set[int]
) -> str:
    """Writes an OCI layout; layers whose number is in `plain` stay uncompressed."""
    blobs = place / "blobs" / "sha256"
    blobs.mkdir(parents=True)
    described, diff_ids = [], []
    for number, entries in enumerate(layers):
        blob, diff_id = _write_layer(blobs, entries, compress=number not in plain)
        described.append(blob)
        diff_ids.append(diff_id)
    configuration = {
        "architecture": _ARCHITECTURES.get(platform.machine(), platform.machine()),
        "os": "linux",
        "rootfs": {"type": "layers", "diff_ids": diff_ids},
    }
    manifest = {
        "schemaVersion": 2,
        "mediaType": "application/vnd.oci.image.manifest.v1+json",
        "config": _store(blobs, "application/vnd.oci.image.config.v1+json", _json(configuration)),
        "layers": described,
    }
    named = _store(blobs, "application/vnd.oci.image.manifest.v1+json", _json(manifest))
    index = {"schemaVersion": 2, "manifests": [named | {"annotations": _annotations(reference)}]}
    (place / "oci-layout").write_text('{"imageLayoutVersion":"1.0.0"}', encoding="ascii")
    (place / "index.json").write_bytes(_json(index))
    return str(named["digest"])


def _annotations(reference: str) -> dict[str, str]:
    return {"org.opencontainers.image.ref.name": reference}


def _write_layer(
    blobs: Path, entries: list[Entry], *, compress: bool
) -> tuple[dict[str, object], str]:
    """Writes one layer. Returns its descriptor and the digest of its plain tar."""
    fresh = blobs / "layer"
    with fresh.open("wb+") as file:
        with tarfile.open(fileobj=file, mode="w", format=tarfile.PAX_FORMAT) as archive:
            for entry in entries:
                archive.addfile(_header(entry), _Repeated(entry))
        file.seek(0)
        diff_id = f"sha256:{hashlib.file_digest(file, 'sha256').hexdigest()}"
        size = file.seek(0, io.SEEK_END)
    if compress:
        raw = gzip.compress(fresh.read_bytes(), 6, mtime=0)
        fresh.unlink()
        return _store(blobs, f"{_TAR}+gzip", raw), diff_id
    fresh.rename(blobs / diff_id.removeprefix("sha256:"))
    return {"mediaType": _TAR, "digest": diff_id, "size": size}, diff_id


def _header(entry: Entry) -> tarfile.TarInfo:
    header = tarfile.TarInfo(entry.name)
    header.type = entry.kind
    header.mode = entry.mode
    header.size = len(entry.content) * entry.repeated
    header.linkname = entry.target
    header.uid, header.gid = entry.owner
    header.pax_headers = {f"SCHILY.xattr.{name}": value for name, value in entry.attributes}
    return header


class _Repeated(io.RawIOBase):
    """The content of an entry, as often as it says, without holding all of it."""

    def __init__(self, entry: Entry) -> None:
        self._content = entry.content
        self._left = len(entry.content) * entry.repeated

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: Buffer) -> int:
        view = memoryview(buffer).cast("B")
        at = -self._left % len(self._content) if self._content else 0
        piece = self._content[at : at + min(len(view), self._left)]
        view[: len(piece)] = piece
        self._left -= len(piece)
        return len(piece)


def _store(blobs: Path, media_type: str, raw: bytes) -> dict[str, object]:
    digest = _digest(raw)
    (blobs / digest.removeprefix("sha256:")).write_bytes(raw)
    return {"mediaType": media_type, "digest": digest, "size": len(raw)}


def _digest(raw: bytes) -> str:
    return f"sha256:{hashlib.sha256(raw).hexdigest()}"


def _json(value: Mapping[str, object]) -> bytes:
    return json.dumps(value, sort_keys=True, separators=(",", ":")).encode("ascii")
