"""The files that belong to the tree: what git tracks, and what it would track."""

import shutil
import subprocess
from collections.abc import Iterator
from pathlib import Path

ROOT = Path(__file__).parents[2]
# What .gitignore says, for a tree that was unpacked and not cloned.
_MADE = {"build", "dist", "demo-state", "__pycache__"}


def list_files() -> tuple[Path, ...]:
    """Return tracked and new files, relative to the root, in a stable order.

    Ignored and deleted files are left out.
    """
    is_clone = (ROOT / ".git").exists() and shutil.which("git") is not None
    paths = set(_ask_git()) if is_clone else set(_walk(ROOT))
    return tuple(sorted(path for path in paths if _is_ordinary(ROOT / path)))


def _ask_git() -> Iterator[Path]:
    command = ["git", "-C", str(ROOT), "ls-files", "-z", "--cached", "--others"]
    command.append("--exclude-standard")
    names = subprocess.run(command, capture_output=True, check=True).stdout.split(b"\0")
    return (Path(name.decode()) for name in names if name)


def _walk(folder: Path) -> Iterator[Path]:
    for entry in folder.iterdir():
        if entry.is_dir() and not _is_made(entry):
            yield from _walk(entry)
        elif entry.is_file() and entry.suffix != ".so":
            yield entry.relative_to(ROOT)


def _is_made(folder: Path) -> bool:
    name = folder.name
    if name in _MADE or name.startswith("demo-state-") or name.endswith(".egg-info"):
        return True
    return name.startswith(".") and name != ".ci"


def _is_ordinary(path: Path) -> bool:
    return path.is_file() and not path.is_symlink()
