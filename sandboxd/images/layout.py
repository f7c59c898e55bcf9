"""Reads an OCI image layout from a directory and believes nothing that it has not hashed.

The manifest is named by its digest; it names config and layers by theirs. Every blob is checked
for size and digest before a byte of it is used.
"""

import hashlib
import itertools
import json
import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from sandboxd.faults import NotFound, Refused
from sandboxd.images.base import CommandBase, read_base
from sandboxd.images.platforms import (
    architecture,
    choose,
    describes_this_machine,
    require_this_machine,
)

MAX_DOCUMENT_BYTES = 4 * 1024 * 1024
MAX_LAYERS = 128
MAX_NESTED_INDEXES = 3
_INDEX_TYPES = {
    "application/vnd.oci.image.index.v1+json",
    "application/vnd.docker.distribution.manifest.list.v2+json",
}
_LAYER_TYPES = {
    *(f"application/vnd.oci.image.layer.v1.tar{end}" for end in ("", "+gzip", "+zstd")),
    *(
        f"application/vnd.oci.image.layer.nondistributable.v1.tar{end}"
        for end in ("", "+gzip", "+zstd")
    ),
    *(f"application/vnd.docker.image.rootfs.diff.tar{end}" for end in ("", ".gzip", ".zstd")),
}
_MAGIC = {b"\x1f\x8b": "gzip", b"\x28\xb5\x2f\xfd": "zstd"}
"""How a layer is compressed is seen from its bytes: builders are known to label it wrongly."""
_REFERENCE = "org.opencontainers.image.ref.name"


@dataclass(frozen=True, slots=True, kw_only=True)
class Layer:
    """One layer: its blob, how it is compressed, the digest of its plain tar."""

    path: Path
    digest: str
    size_bytes: int
    compression: str
    diff_id: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Image:
    """A verified manifest; `layers` from the lowest to the highest, `base` for its commands."""

    digest: str
    reference: str
    layers: tuple[Layer, ...]
    base: CommandBase


def read_layout(directory: Path, *, wanted: str | None = None) -> Image:
    """The image `wanted` (digest of a manifest or of an index), or the only one for this machine.

    One image under several tags is one image.
    Raises: Refused (a digest or size differs, an unknown type, another machine), NotFound.
    """
    top = descriptors(_document(directory / "index.json"))
    if wanted is not None:
        named = (d for d in _all_below(directory, top) if d.get("digest") == wanted)
        top = list(itertools.islice(named, 1))
    found = {str(d.get("digest")): d for d in reversed(_leaves(directory, top))}
    if len(found) > 1:
        found = {digest: d for digest, d in found.items() if describes_this_machine(d)}
    if not found:
        raise NotFound(f"the layout holds no such image for linux/{architecture()}")
    if len(found) > 1:
        raise NotFound(f"the layout holds {len(found)} images", remedy="name one by --digest")
    return _read_image(directory, *found.values())


def descriptors(index: dict[str, Any]) -> list[dict[str, Any]]:
    """What an index lists."""
    listed = index.get("manifests", [])
    return [d for d in listed if isinstance(d, dict)] if isinstance(listed, list) else []


def _all_below(
    directory: Path, described: list[dict[str, Any]], depth: int = 0
) -> Iterator[dict[str, Any]]:
    """Descriptors of manifests and indexes, those of the upper ones first."""
    yield from described
    for found in described:
        if found.get("mediaType") in _INDEX_TYPES:
            if depth == MAX_NESTED_INDEXES:
                raise Refused("an index leads to an index and so on")
            inner = descriptors(_verified_document(directory, found))
            yield from _all_below(directory, inner, depth + 1)


def _leaves(
    directory: Path, described: list[dict[str, Any]], depth: int = 0
) -> list[dict[str, Any]]:
    """For each descriptor the manifest that this machine takes; an index offers one."""
    leaves = []
    for found in described:
        if found.get("mediaType") not in _INDEX_TYPES:
            leaves.append(found)
            continue
        if depth == MAX_NESTED_INDEXES:
            raise Refused("an index leads to an index and so on")
        inner = choose(descriptors(_verified_document(directory, found)))
        named = {"annotations": found.get("annotations", {})}
        leaves += [leaf | named for leaf in _leaves(directory, inner, depth + 1)]
    return leaves


def is_index(document: dict[str, Any]) -> bool:
    """Whether it lists images for several platforms."""
    return document.get("mediaType") in _INDEX_TYPES or (
        "manifests" in document and "layers" not in document
    )


def _read_image(directory: Path, described: dict[str, Any]) -> Image:
    manifest = _verified_document(directory, described)
    configuration = _verified_document(directory, _object(manifest.get("config")))
    diff_ids = _object(configuration.get("rootfs")).get("diff_ids", [])
    require_this_machine(configuration)
    layers = manifest.get("layers", [])
    if not isinstance(layers, list) or not isinstance(diff_ids, list):
        raise Refused("the layers are not a list")
    if len(layers) != len(diff_ids) or not 0 < len(layers) <= MAX_LAYERS:
        raise Refused("the manifest and the configuration do not name the same layers")
    return Image(
        digest=described["digest"],
        reference=str(_object(described.get("annotations", {})).get(_REFERENCE, "")),
        layers=tuple(
            _layer(directory, _object(layer), str(diff_id))
            for layer, diff_id in zip(layers, diff_ids, strict=True)
        ),
        base=read_base(configuration.get("config")),
    )


def _layer(directory: Path, described: dict[str, Any], diff_id: str) -> Layer:
    if described.get("mediaType", "") not in _LAYER_TYPES:
        raise Refused(
            "a layer is of a type that is not read here",
            remedy="use layers of type tar, tar+gzip or tar+zstd",
        )
    path = _verified_blob(directory, described)
    return Layer(
        path=path,
        digest=described["digest"],
        size_bytes=path.stat().st_size,
        compression=_compression_of(path),
        diff_id=diff_id,
    )


def _compression_of(path: Path) -> str:
    with path.open("rb") as file:
        begin = file.read(4)
    return next((name for magic, name in _MAGIC.items() if begin.startswith(magic)), "none")


def _object(value: object) -> dict[str, Any]:
    if not isinstance(value, dict):
        raise Refused("a document of the image has another shape than the specification says")
    return value


def _verified_document(directory: Path, described: dict[str, Any]) -> dict[str, Any]:
    return _document(_verified_blob(directory, described))


def _verified_blob(directory: Path, described: dict[str, Any]) -> Path:
    digest = str(described.get("digest", ""))
    if not re.fullmatch(r"sha256:[0-9a-f]{64}", digest):
        raise Refused("a blob is not named by a sha256 digest")
    name = digest.removeprefix("sha256:")
    path = directory / "blobs" / "sha256" / name
    if not path.is_file() or path.is_symlink():
        raise Refused(f"the blob {digest} is missing")
    if path.stat().st_size != described.get("size"):
        raise Refused(f"the blob {digest} has another size than its descriptor says")
    if sha256_of(path) != name:
        raise Refused(f"the blob {digest} does not match its digest")
    return path


def _document(path: Path) -> dict[str, Any]:
    try:
        if path.stat().st_size > MAX_DOCUMENT_BYTES:
            raise Refused(f"{path.name} is too large")
        parsed = json.loads(path.read_bytes())
    except FileNotFoundError as error:
        raise NotFound(f"{path} does not exist", remedy="give an OCI layout directory") from error
    except ValueError as error:
        raise Refused(f"{path.name} is not JSON") from error
    if not isinstance(parsed, dict):
        raise Refused(f"{path.name} is not a JSON object")
    return parsed


def sha256_of(path: Path) -> str:
    """Hexadecimal SHA-256 of a file."""
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()
