"""Fetches an image from a registry into an OCI layout (skopeo), by digest and nothing else.

The first document is hashed here and must have the digest that was asked for. If it is a
multi-platform index, the manifest for this machine is picked from it here too, so that every byte
hangs on the given digest. The layout is then verified and unpacked like any other.
"""

import hashlib
import json
import shutil
import stat
import subprocess
import time
from pathlib import Path
from typing import Any

from sandboxd.config import Registry
from sandboxd.faults import Misconfigured, NotFound, Refused, Retryable
from sandboxd.images.layout import (
    MAX_DOCUMENT_BYTES,
    MAX_LAYERS,
    MAX_NESTED_INDEXES,
    descriptors,
    is_index,
)
from sandboxd.images.platforms import architecture, choose
from sandboxd.images.reference import Reference
from sandboxd.images.unpack import Progress

_INSPECT_WITHIN_S = 60.0
_COPY_WITHIN_S = 3600.0
_LOOK_EVERY_S = 0.2


def pull_layout(
    reference: Reference,
    registry: Registry,
    *,
    into: Path,
    limit_bytes: int,
    progress: Progress,
) -> str:
    """Fetches into the empty directory `into`. Returns the digest of the image's manifest.

    Raises: Refused (too large, another digest), NotFound, Retryable (the registry does not answer),
    Misconfigured (skopeo or the credential file is missing or open to others).
    """
    options = _options(registry)
    digest, manifest = _find_manifest(reference, options)
    layers = manifest.get("layers", [])
    sizes = _sizes_of(layers)
    if len(sizes) > MAX_LAYERS or sum(sizes) > limit_bytes:
        raise Refused(f"the image is larger than this node's {limit_bytes} bytes")
    source = f"docker://{reference.registry}/{reference.repository}@{digest}"
    words = (_program(), "copy", "--quiet", "--preserve-digests", *options, source, f"oci:{into}")
    _run_watched(words, into, sum(sizes), progress)
    return digest


def _sizes_of(layers: object) -> list[int]:
    if not isinstance(layers, list):
        raise Refused("the manifest has no list of layers")
    sizes = [layer.get("size") if isinstance(layer, dict) else None for layer in layers]
    known = [size for size in sizes if isinstance(size, int) and size >= 0]
    if len(known) != len(sizes):
        raise Refused("the manifest does not say how large its layers are")
    return known


def _find_manifest(reference: Reference, options: tuple[str, ...]) -> tuple[str, dict[str, Any]]:
    digest = reference.digest
    for _ in range(MAX_NESTED_INDEXES + 1):
        document = _fetch(reference, digest, options)
        if not is_index(document):
            return digest, document
        chosen = choose(descriptors(document))
        if not chosen:
            raise NotFound(f"the index holds no image for linux/{architecture()}")
        digest = str(chosen[0].get("digest", ""))
    raise Refused("an index leads to an index and so on")


def _fetch(reference: Reference, digest: str, options: tuple[str, ...]) -> dict[str, Any]:
    """One document of the registry, believed only after it was hashed."""
    source = f"docker://{reference.registry}/{reference.repository}@{digest}"
    said = tuple(option.replace("--src-", "--") for option in options)
    try:
        done = subprocess.run(
            (_program(), "inspect", "--raw", *said, source),
            capture_output=True,
            check=False,
            timeout=_INSPECT_WITHIN_S,
        )
    except subprocess.TimeoutExpired as error:
        raise Retryable(f"{reference.registry} does not answer") from error
    if done.returncode != 0:
        raise _failure(done.stderr)
    if len(done.stdout) > MAX_DOCUMENT_BYTES:
        raise Refused("a manifest is too large")
    if f"sha256:{hashlib.sha256(done.stdout).hexdigest()}" != digest:
        raise Refused("the registry answered with another manifest than the digest names")
    document = json.loads(done.stdout)
    if not isinstance(document, dict):
        raise Refused("a manifest is not a JSON object")
    return document


def _program() -> str:
    found = shutil.which("skopeo")
    if found is None:
        raise Misconfigured("skopeo is not installed", remedy="apt install skopeo")
    return found


def _options(registry: Registry) -> tuple[str, ...]:
    """The credential travels as the name of a file, so that no list of processes shows it."""
    words = [f"--src-tls-verify={'false' if registry.plain_http else 'true'}"]
    if registry.credentials is not None:
        _check_credentials(registry.credentials)
        words.append(f"--src-authfile={registry.credentials}")
    if registry.certificates is not None:
        words.append(f"--src-cert-dir={registry.certificates}")
    return tuple(words)


def _check_credentials(file: Path) -> None:
    try:
        mode = file.stat().st_mode
    except OSError as error:
        raise Misconfigured(
            f"the credential file {file}: {error.strerror}", remedy="mount it, or correct its path"
        ) from error
    if mode & (stat.S_IRWXO | stat.S_IWGRP):
        raise Misconfigured(f"the credential file {file} is open to others", remedy="chmod 0400")


def _run_watched(words: tuple[str, ...], into: Path, total: int, progress: Progress) -> None:
    deadline = time.monotonic() + _COPY_WITHIN_S
    with subprocess.Popen(words, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE) as running:
        said = None
        try:
            while said is None:
                try:
                    said = running.communicate(timeout=_LOOK_EVERY_S)[1]
                except subprocess.TimeoutExpired:
                    progress("fetch", _size_of(into), total)
                    if time.monotonic() > deadline or _size_of(into) > 2 * total + 2**26:
                        raise Retryable("the fetch took too long, or brought too much") from None
        except BaseException:
            running.kill()
            raise
    if running.returncode != 0:
        raise _failure(said)
    progress("fetch", total, total)


def _size_of(directory: Path) -> int:
    """Bytes that arrived; files come and go while they are renamed."""
    size = 0
    for file in directory.rglob("*"):
        try:
            size += file.stat().st_size
        except FileNotFoundError:
            continue
    return size


def _failure(said: bytes) -> Refused | NotFound | Retryable:
    """Skopeo's last line tells whether the registry, the name or the bytes are wrong."""
    lines = said.decode("utf-8", "replace").strip().splitlines()
    words = tuple(lines[-2:])
    text = lines[-1].lower() if lines else ""
    if "manifest unknown" in text or "name unknown" in text or "not found" in text:
        return NotFound("the registry has no such image", kernel=words)
    if "digest did not match" in text:
        return Refused("the registry's bytes do not match their digest", kernel=words)
    if "unauthorized" in text or "authentication required" in text or "denied" in text:
        return Refused(
            "the registry does not let this node in",
            remedy="give `credentials` of the registry in the configuration",
            kernel=words,
        )
    return Retryable("skopeo failed", remedy="see its words; is the registry up?", kernel=words)
