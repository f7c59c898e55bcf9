"""A real Debian as an image, made of the packages that this machine's apt would install.

Where they come from is read from the machine when the test runs and stands in no file. Made once
and kept under build/, since it takes a minute.
"""

import hashlib
import ipaddress
import json
import os
import re
import shutil
import socket
import subprocess
import urllib.request
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

from sandboxd.images.platforms import architecture
from tests.conftest import IN_CI

CACHE = Path(__file__).parents[2] / "build"
PACKAGES = (
    *("ca-certificates", "curl", "git", "iproute2", "less", "nodejs", "npm", "postgresql"),
    *("procps", "python3", "python3-pip", "python3-pytest", "sudo", "tmux", "bsdutils"),
)
LEFT_OUT = ("man", "doc", "info", "locale", "i18n", "lintian")
# A compiler for queries that take minutes: a fifth of the whole image, loaded when first needed.
TOO_LARGE = 'rm -f "$1"/usr/lib/*/libLLVM-*.so* "$1"/usr/lib/*/libz3.so*'
BUILD_WITHIN_S = 480
NEEDS_BYTES = 4 * 1024**3
ASK_WITHIN_S = 20
INDEX = (
    "import pip._internal.models.index as i, pip._internal.configuration as c;"
    "f = c.Configuration(isolated=False); f.load();"
    "print(dict(f.items()).get('global.index-url', i.PyPI.simple_url))"
)


class Unreachable(Exception):
    """A source of packages does not answer."""


@dataclass(frozen=True, slots=True)
class Source:
    """One line of apt's sources."""

    uri: str
    release: str
    component: str

    def __str__(self) -> str:
        return f"deb {self.uri} {self.release} {self.component}"


@dataclass(frozen=True, slots=True)
class Registries:
    """Where this machine's pip and npm look, and every name that they are sent to."""

    python: str
    node: str
    hosts: frozenset[tuple[str, int]]


def require(condition: object, reason: str) -> None:
    """At home a reason to skip, in CI one to fail."""
    import pytest

    if not condition:
        if IN_CI:
            pytest.fail(f"must not be missing in CI: {reason}")
        pytest.skip(reason)


def find_sources() -> tuple[Source, ...]:
    """Those of the distribution itself, not of others whom the machine trusts as well."""
    form = "$(CREATED_BY)\t$(ORIGIN)\t$(REPO_URI)\t$(RELEASE)\t$(COMPONENT)"
    words = ("apt-get", "indextargets", "--format", form)
    listed = subprocess.run(words, capture_output=True, check=False, text=True).stdout
    rows = {tuple(line.split("\t")) for line in listed.splitlines()}
    return tuple(
        Source(uri, release, component)
        for kind, origin, uri, release, component in sorted(rows)
        if kind == "Packages" and origin in {"Debian", "Ubuntu"}
    )


def build_root() -> Path:
    """The tar of the root. Raises: Unreachable."""
    sources = find_sources()
    if not sources:
        raise Unreachable("apt of this machine knows no source of its own distribution")
    recipe = json.dumps([list(map(str, sources)), PACKAGES, LEFT_OUT, TOO_LARGE])
    target = CACHE / f"debian-{hashlib.sha256(recipe.encode()).hexdigest()[:16]}.tar"
    if target.exists():
        return target
    CACHE.mkdir(exist_ok=True)
    fresh = target.with_suffix(f".{os.getpid()}.tar")
    suite = next(s.release for s in sources if "-" not in s.release)
    words = [
        *("mmdebstrap", "--quiet", "--variant=minbase", "--mode=root"),
        *(f"--include={','.join(PACKAGES)}", f"--customize-hook={TOO_LARGE}"),
        *(f"--dpkgopt=path-exclude=/usr/share/{name}/*" for name in LEFT_OUT),
        "--dpkgopt=force-unsafe-io",  # Whoever is interrupted builds it anew.
        *(suite, str(fresh), *map(str, sources)),
    ]
    try:
        done = subprocess.run(
            words,
            env={**os.environ, **_fast_directory()},
            capture_output=True,
            check=False,
            timeout=BUILD_WITHIN_S,
        )
        if done.returncode != 0:
            raise Unreachable(f"mmdebstrap: {done.stderr[-500:].decode('utf-8', 'replace')}")
        fresh.replace(target)
    finally:
        fresh.unlink(missing_ok=True)
    return target


def _fast_directory() -> dict[str, str]:
    """Where the root is put together: in memory, if there is room, which takes half of the time."""
    memory = Path("/dev/shm")
    has_room = memory.is_dir() and shutil.disk_usage(memory).free > NEEDS_BYTES
    return {"TMPDIR": str(memory)} if has_room else {}


def write_debian_layout(directory: Path, tar: Path) -> None:
    """An image of one plain layer."""
    blobs = directory / "blobs" / "sha256"
    blobs.mkdir(parents=True)
    with tar.open("rb") as file:
        name = hashlib.file_digest(file, "sha256").hexdigest()
    shutil.copyfile(tar, blobs / name)

    def store(kind: str, document: dict[str, Any]) -> dict[str, Any]:
        raw = json.dumps(document).encode()
        digest = hashlib.sha256(raw).hexdigest()
        (blobs / digest).write_bytes(raw)
        kind = f"application/vnd.oci.image.{kind}.v1+json"
        return {"mediaType": kind, "digest": f"sha256:{digest}", "size": len(raw)}

    config = {"Env": ["DEBIAN_FRONTEND=noninteractive", "LANG=C.UTF-8"], "WorkingDir": "/root"}
    configuration = {
        "os": "linux",
        "architecture": architecture(),
        "config": config,
        "rootfs": {"type": "layers", "diff_ids": [f"sha256:{name}"]},
    }
    layer = {
        "mediaType": "application/vnd.oci.image.layer.v1.tar",
        "digest": f"sha256:{name}",
        "size": tar.stat().st_size,
    }
    manifest = {"config": store("config", configuration), "layers": [layer]}
    index = {"manifests": [store("manifest", manifest)]}
    (directory / "index.json").write_text(json.dumps(index))
    (directory / "oci-layout").write_text('{"imageLayoutVersion":"1.0.0"}')


def find_registries(python_package: str) -> Registries:
    """As pip and npm of this machine are configured. Raises: Unreachable."""
    python = _said("python3", "-m", "pip", "config", "get", "global.index-url")
    python = python or _said("python3", "-c", INDEX)
    node = _said("npm", "config", "get", "registry")
    if not python.startswith("https:") or not node.startswith("https:"):
        raise Unreachable("pip or npm of this machine has no registry that speaks TLS")
    page = f"{python.rstrip('/')}/{python_package}/"
    try:
        with urllib.request.urlopen(page, timeout=ASK_WITHIN_S) as answer:
            links = re.findall(r'href="([^"]+)"', answer.read().decode("utf-8", "replace"))
    except OSError as error:
        raise Unreachable(f"the registry of pip does not answer: {error}") from error
    urls = (python, node, *(link for link in links if link.startswith("https:")))
    return Registries(python=python, node=node, hosts=frozenset(map(_place, urls)))


def _said(*words: str) -> str:
    done = subprocess.run(words, capture_output=True, check=False, text=True, timeout=60)
    return done.stdout.strip()


def _place(url: str) -> tuple[str, int]:
    parts = urlsplit(url)
    return parts.hostname or "", parts.port or {"http": 80}.get(parts.scheme, 443)


def egress_of(sources: Iterable[Source], registries: Registries) -> str:
    """The section of the daemon's configuration that lets exactly these through.

    A machine may reach its mirrors at addresses that are not public; only these are let in too.
    """
    places = {_place(source.uri) for source in sources} | registries.hosts
    found = {
        str(row[4][0]) for host, port in places for row in socket.getaddrinfo(host, port, type=1)
    }
    private = sorted(a for a in found if not ipaddress.ip_address(a).is_global)
    rules = "".join(
        f'[[egress.allow]]\nname = "{host}"\nports = [{port}]\n' for host, port in sorted(places)
    )
    return f"[egress]\ntest_only_addresses = {json.dumps(private)}\n{rules}"
