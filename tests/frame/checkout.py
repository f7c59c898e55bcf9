"""A copy of the tree as a fresh clone would have it: what git tracks, or would track."""

import shutil
from pathlib import Path

from tools.check.tree import list_files

ROOT = Path(__file__).parents[2]


def copy_tree(target: Path) -> Path:
    """Copy the tree's files below `target` and return it."""
    for path in list_files():
        copy = target / path
        copy.parent.mkdir(parents=True, exist_ok=True)
        shutil.copy2(ROOT / path, copy)
    return target


def read_tree_file(name: str) -> str:
    """Return the text of one file of the tree."""
    return (ROOT / name).read_text(encoding="utf-8")
