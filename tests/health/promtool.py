"""Finds Prometheus' own checker; where there is none, unpacks Debian's package into build/.

Unpacked and not installed: installing it would start a server.
"""

import shutil
import subprocess
from pathlib import Path
from tempfile import TemporaryDirectory

from tests.frame.checkout import ROOT

FOLDER = ROOT / "build" / "promtool"


class NoPromtool(Exception):
    """There is none, and none could be had; the text says why."""


def find_promtool() -> str:
    """The path of promtool. Raises: NoPromtool."""
    here = shutil.which("promtool")
    if here is not None:
        return here
    fetched = FOLDER / "promtool"
    if not fetched.exists():
        _fetch(fetched)
    return str(fetched)


def _fetch(target: Path) -> None:
    if shutil.which("apt-get") is None or shutil.which("dpkg-deb") is None:
        raise NoPromtool("no promtool and no apt-get on this system")
    with TemporaryDirectory() as folder:
        if not _downloads(folder):
            # The lists may be missing on a fresh machine; only root can get them.
            subprocess.run(["apt-get", "update", "-q"], capture_output=True, check=False)
            if not _downloads(folder):
                raise NoPromtool("apt-get could not download prometheus")
        archive = next(Path(folder).glob("prometheus_*.deb"))
        unpacked = Path(folder) / "unpacked"
        subprocess.run(["dpkg-deb", "--extract", archive, unpacked], check=True)
        FOLDER.mkdir(parents=True, exist_ok=True)
        partial = target.with_suffix(".partial")
        shutil.copy2(unpacked / "usr/bin/promtool", partial)
        partial.replace(target)


def _downloads(folder: str) -> bool:
    command = ["apt-get", "download", "-q", "prometheus"]
    return subprocess.run(command, cwd=folder, capture_output=True, check=False).returncode == 0
