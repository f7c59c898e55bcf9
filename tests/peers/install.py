"""`python -m tests.peers.install`: other people's OneBot clients, each in a place of its own.

They lie below build/, so that nothing of them mixes with the service's environment. In CI the tests
install them by themselves; at home they skip until somebody ran this.
"""

import hashlib
import shutil
import subprocess
import sys
import venv
from collections.abc import Sequence
from pathlib import Path

HERE = Path(__file__).parent
PLACE = HERE.parents[1] / "build" / "onebot-peers"
_MARK = "installed"
_WITHIN_S = 300


def find_node_client() -> Path | None:
    """The folder of node-napcat-ts with its modules, None where it is not installed."""
    return _find("node", HERE / "node" / "package-lock.json")


def find_nonebot() -> Path | None:
    """The Python that has nonebot's event models, None where it is not installed."""
    place = _find("nonebot", HERE / "nonebot.txt")
    return None if place is None else place / "bin" / "python"


def install_node_client() -> Path:
    """Install node-napcat-ts as its lock file says; its folder."""
    place, lock = PLACE / "node", HERE / "node" / "package-lock.json"
    _clear(place)
    for name in ("package.json", "package-lock.json"):
        shutil.copy(HERE / "node" / name, place)
    _run(["npm", "ci", "--no-audit", "--no-fund", "--ignore-scripts"], place)
    _mark(place, lock)
    return place


def install_nonebot() -> Path:
    """Install nonebot's models as their lock file says; the Python that has them."""
    place, lock = PLACE / "nonebot", HERE / "nonebot.txt"
    _clear(place)
    venv.create(place, with_pip=True)
    python = place / "bin" / "python"
    pip = [str(python), "-m", "pip", "install", "--quiet", "--disable-pip-version-check"]
    _run([*pip, "--require-hashes", "-r", str(lock)], place)
    _mark(place, lock)
    return python


def _find(name: str, lock: Path) -> Path | None:
    place = PLACE / name
    mark = place / _MARK
    is_current = mark.is_file() and mark.read_text() == _digest(lock)
    return place if is_current else None


def _clear(place: Path) -> None:
    shutil.rmtree(place, ignore_errors=True)
    place.mkdir(parents=True)


def _run(command: Sequence[str], place: Path) -> None:
    done = subprocess.run(
        command, cwd=place, capture_output=True, text=True, check=False, timeout=_WITHIN_S
    )
    if done.returncode != 0:
        raise RuntimeError(f"{command[0]} failed: {done.stderr.strip()[-500:]}")


def _mark(place: Path, lock: Path) -> None:
    """Last, so that an installation that broke off counts as none."""
    mark = place / _MARK
    fresh = mark.with_suffix(".new")
    fresh.write_text(_digest(lock))
    fresh.replace(mark)


def _digest(lock: Path) -> str:
    return hashlib.sha256(lock.read_bytes()).hexdigest()


if __name__ == "__main__":
    print(find_node_client() or install_node_client())
    print(find_nonebot() or install_nonebot())
    sys.exit(0)
