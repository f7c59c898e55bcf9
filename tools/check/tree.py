"""The files that belong to the tree: what git tracks, and what it would track."""

import subprocess
from pathlib import Path

ROOT = Path(__file__).parents[2]


def list_files() -> tuple[Path, ...]:
    """Return tracked and new files, relative to the root, in a stable order.

    Ignored and deleted files are left out.
    """
    command = ["git", "-C", str(ROOT), "ls-files", "-z", "--cached", "--others"]
    command.append("--exclude-standard")
    names = subprocess.run(command, capture_output=True, check=True).stdout.split(b"\0")
    paths = {Path(name.decode()) for name in names if name}
    return tuple(sorted(path for path in paths if _is_ordinary(ROOT / path)))


def _is_ordinary(path: Path) -> bool:
    return path.is_file() and not path.is_symlink()
