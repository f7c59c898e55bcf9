"""OCI layouts for tests, made of layers that a test fills as it likes."""

import gzip
import hashlib
import io
import json
import shutil
import subprocess
import tarfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

from sandboxd.images.layout import read_layout
from sandboxd.images.platforms import architecture
from sandboxd.images.unpack import UnpackLimits, unpack_layers

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


def one_file(name: str, content: bytes) -> bytes:
    return layer(lambda archive: add(archive, name, content))


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
    config: dict[str, object] | None = None,
) -> Path:
    def store(kind: str, raw: bytes) -> dict[str, object]:
        name = hashlib.sha256(raw).hexdigest()
        (directory / "blobs" / "sha256" / name).write_bytes(raw)
        kind = f"application/vnd.oci.image.{kind}"
        return {"mediaType": kind, "digest": f"sha256:{name}", "size": len(raw)}

    (directory / "blobs" / "sha256").mkdir(parents=True)
    given = diff_ids or [f"sha256:{hashlib.sha256(tar).hexdigest()}" for tar in tars]
    machine = {"os": "linux", "architecture": architecture()} | (config or {})
    configuration = json.dumps(machine | {"rootfs": {"type": "layers", "diff_ids": given}}).encode()
    manifest = {
        "schemaVersion": 2,
        "mediaType": "application/vnd.oci.image.manifest.v1+json",
        "config": store("config.v1+json", configuration),
        "layers": [store(f"layer.v1.{packing}", PACKINGS[packing](tar)) for tar in tars],
    }
    described = store("manifest.v1+json", json.dumps(manifest).encode())
    index = {"schemaVersion": 2, "manifests": [described]}
    (directory / "index.json").write_text(json.dumps(index))
    (directory / "oci-layout").write_text('{"imageLayoutVersion": "1.0.0"}')
    return directory


def unpacked(directory: Path, tree: Path, limits: UnpackLimits = LIMITS) -> Path:
    tree.mkdir()
    unpack_layers(read_layout(directory).layers, tree, limits)
    return tree


def derive_layout(source: Path, target: Path, config: dict[str, object], *tars: bytes) -> str:
    """A copy of the image in `source` with more layers and another `config`. Returns its digest."""
    shutil.copytree(source, target)
    blobs = target / "blobs" / "sha256"

    def load(described: dict[str, str]) -> dict[str, Any]:
        found: dict[str, Any] = json.loads((blobs / described["digest"][7:]).read_bytes())
        return found

    def store(raw: bytes) -> dict[str, object]:
        name = hashlib.sha256(raw).hexdigest()
        (blobs / name).write_bytes(raw)
        return {"digest": f"sha256:{name}", "size": len(raw)}

    index = json.loads((target / "index.json").read_bytes())
    manifest = load(index["manifests"][0])
    configuration = load(manifest["config"]) | {"config": config}
    for tar in tars:
        kind = {"mediaType": "application/vnd.oci.image.layer.v1.tar+gzip"}
        manifest["layers"].append(kind | store(gzip.compress(tar)))
        configuration["rootfs"]["diff_ids"].append(f"sha256:{hashlib.sha256(tar).hexdigest()}")
    manifest["config"] |= store(json.dumps(configuration).encode())
    described = index["manifests"][0] | store(json.dumps(manifest).encode())
    del described["annotations"]
    (target / "index.json").write_text(json.dumps({"manifests": [described]}))
    return str(described["digest"])
