"""The files that belong to the tree: what git tracks, and what it would track."""

import subprocess
from pathlib import Path


def list_files() -> tuple[Path, ...]:
    """Return tracked and new files in a stable order; ignored and deleted ones are left out."""
    command = ["git", "ls-files", "-z", "--cached", "--others", "--exclude-standard"]
    names = subprocess.run(command, capture_output=True, check=True).stdout.split(b"\0")
    paths = {Path(name.decode()) for name in names if name}
    return tuple(sorted(path for path in paths if path.is_file() and not path.is_symlink()))
