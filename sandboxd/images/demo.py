"""Builds a small image offline from the node's static busybox, for demonstrations and tests.

The same busybox gives the same bytes, so the manifest has the same digest each time.
"""

import gzip
import hashlib
import io
import json
import platform
import subprocess
import tarfile
from pathlib import Path
from typing import Any

from sandboxd.faults import Misconfigured

REFERENCE = "perlica-demo:1"
_DIRECTORIES = (
    *("bin", "dev", "etc", "home", "proc", "root", "run", "sys", "tmp", "usr", "usr/bin"),
    *("usr/local", "usr/local/bin", "usr/share", "usr/share/demo", "var", "var/tmp", "srv"),
)
_FILES = {
    "etc/passwd": "root:x:0:0:root:/root:/bin/sh\nnobody:x:65534:65534:nobody:/:/bin/false\n",
    "etc/group": "root:x:0:\nnogroup:x:65534:\n",
    "etc/hosts": "127.0.0.1 localhost\n::1 localhost\n",
    "etc/nsswitch.conf": "hosts: files\n",
    "etc/os-release": 'ID=perlica-demo\nNAME="Perlica demo image"\nVERSION_ID=1\n',
    "etc/profile": "export PATH=/usr/local/bin:/usr/bin:/bin\n",
    "usr/share/demo/README": "A small root file system for Perlica. Everything here persists.\n",
    "usr/share/demo/numbers": "".join(f"{n}\n" for n in range(1, 1001)),
}
_HARD_LINK = ("usr/share/demo/same-numbers", "usr/share/demo/numbers")
_STICKY = {"tmp", "var/tmp"}
_ARCHITECTURES = {"x86_64": "amd64", "aarch64": "arm64"}


def build_demo_layout(directory: Path, *, busybox: Path = Path("/bin/busybox")) -> str:
    """Writes an OCI layout into `directory`. Returns the digest of its manifest.

    Raises: Misconfigured when busybox is missing or not static.
    """
    plain = _tar(busybox)
    layer = gzip.compress(plain, compresslevel=6, mtime=0)
    configuration = {
        "architecture": _ARCHITECTURES.get(platform.machine(), platform.machine()),
        "os": "linux",
        "config": {"Cmd": ["/bin/sh"]},
        "rootfs": {"type": "layers", "diff_ids": [_digest(plain)]},
    }
    blobs = directory / "blobs" / "sha256"
    blobs.mkdir(parents=True, exist_ok=True)
    manifest = {
        "schemaVersion": 2,
        "mediaType": "application/vnd.oci.image.manifest.v1+json",
        "config": _store(blobs, "config.v1+json", _json(configuration)),
        "layers": [_store(blobs, "layer.v1.tar+gzip", layer)],
    }
    described = _store(blobs, "manifest.v1+json", _json(manifest))
    described["annotations"] = {"org.opencontainers.image.ref.name": REFERENCE}
    (directory / "oci-layout").write_text('{"imageLayoutVersion":"1.0.0"}', encoding="ascii")
    index = {"schemaVersion": 2, "manifests": [described]}
    (directory / "index.json").write_bytes(_json(index))
    return str(described["digest"])


def _tar(busybox: Path) -> bytes:
    buffer = io.BytesIO()
    with tarfile.open(fileobj=buffer, mode="w", format=tarfile.PAX_FORMAT) as archive:
        for name in _DIRECTORIES:
            _add(archive, name, kind=tarfile.DIRTYPE, mode=0o1777 if name in _STICKY else 0o755)
        _add(archive, "bin/busybox", content=_static_program(busybox), mode=0o755)
        for applet in _applets(busybox):
            _add(archive, f"bin/{applet}", kind=tarfile.SYMTYPE, target="busybox", mode=0o777)
        for name, text in _FILES.items():
            _add(archive, name, content=text.encode("utf-8"))
        name, target = _HARD_LINK
        _add(archive, name, kind=tarfile.LNKTYPE, target=target)
    return buffer.getvalue()


def _add(
    archive: tarfile.TarFile,
    name: str,
    *,
    kind: bytes = tarfile.REGTYPE,
    content: bytes = b"",
    target: str = "",
    mode: int = 0o644,
) -> None:
    entry = tarfile.TarInfo(name)
    entry.type = kind
    entry.mode = mode
    entry.size = len(content)
    entry.linkname = target
    archive.addfile(entry, io.BytesIO(content))


def _static_program(busybox: Path) -> bytes:
    try:
        raw = busybox.read_bytes()
    except FileNotFoundError as error:
        raise Misconfigured(
            f"{busybox} is missing", remedy="install busybox-static (apt install busybox-static)"
        ) from error
    if b"/ld-linux" in raw or b"/ld-musl" in raw:
        raise Misconfigured(f"{busybox} is not static", remedy="install busybox-static")
    return raw


def _applets(busybox: Path) -> list[str]:
    listed = subprocess.run([busybox, "--list"], capture_output=True, check=True, text=True)
    return sorted(set(listed.stdout.split()) - {"busybox"})


def _store(blobs: Path, kind: str, raw: bytes) -> dict[str, Any]:
    digest = _digest(raw)
    (blobs / digest.removeprefix("sha256:")).write_bytes(raw)
    return {
        "mediaType": f"application/vnd.oci.image.{kind}",
        "digest": digest,
        "size": len(raw),
    }


def _digest(raw: bytes) -> str:
    return f"sha256:{hashlib.sha256(raw).hexdigest()}"


def _json(value: dict[str, Any]) -> bytes:
    return json.dumps(value, sort_keys=True, separators=(",", ":")).encode("ascii")
