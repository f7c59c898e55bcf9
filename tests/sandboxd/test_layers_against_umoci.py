"""The same layers through umoci, a reference unpacker of the OCI: the trees must be the same.

Two hundred stacks from seeds, so that a difference can be looked at again. What one of both
refuses, the other must refuse too.
"""

import json
import os
import shutil
import stat
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

from sandboxd.faults import Refused
from tests.sandboxd.layouts import unpacked, write_layout
from tests.sandboxd.random_layers import make_stack

pytestmark = pytest.mark.root
STACKS = 200
AT_ONCE = 40
REFUSED_AT_MOST = 0.3
TAG = "stack"


@pytest.fixture(autouse=True)
def _needs_umoci() -> None:
    if shutil.which("umoci") is None:
        if os.environ.get("CI") == "true":
            pytest.fail("must not be missing in CI: umoci")
        pytest.skip("umoci is not installed")


@pytest.mark.timeout(180)
@pytest.mark.parametrize("first", range(0, STACKS, AT_ONCE))
def test_random_layers_give_the_tree_that_umoci_gives(tmp_path: Path, first: int) -> None:
    refused = 0
    for seed in range(first, first + AT_ONCE):
        stack, place = make_stack(seed), tmp_path / str(seed)
        place.mkdir()
        theirs, ours = unpack_with_both(place, *stack.tars)

        assert (theirs is None) == (ours is None), f"stack {seed}: only one of both refused it"
        if theirs is None or ours is None:
            refused += 1
        else:
            (found, found_links), (expected, expected_links) = tree_of(ours), tree_of(theirs)
            assert found == expected, f"stack {seed}"
            assert found_links == expected_links, f"stack {seed}"
            assert wrong_times(ours, stack.times) == [], f"stack {seed}"
        shutil.rmtree(place)

    assert refused < REFUSED_AT_MOST * AT_ONCE


def unpack_with_both(place: Path, *tars: bytes) -> tuple[Path | None, Path | None]:
    """The trees of umoci and of ours; None where one refused."""
    layout = write_layout(place / "layout", *tars)
    index = json.loads((layout / "index.json").read_bytes())
    index["manifests"][0]["annotations"] = {"org.opencontainers.image.ref.name": TAG}
    (layout / "index.json").write_text(json.dumps(index))
    words = ("umoci", "raw", "unpack", "--image", f"{layout}:{TAG}", str(place / "theirs"))
    done = subprocess.run(words, capture_output=True, check=False)
    theirs = place / "theirs" if done.returncode == 0 else None
    try:
        return theirs, unpacked(layout, place / "ours")
    except Refused:
        return theirs, None


def tree_of(root: Path) -> tuple[dict[str, object], set[tuple[str, ...]]]:
    """Every name with all that a layer says of it, and which names are one file.

    Directories are without their times: umoci does not restore those that a whiteout touched.
    """
    found: dict[str, object] = {}
    names: dict[int, list[str]] = {}
    for path in sorted(root.rglob("*")):
        name, status = str(path.relative_to(root)), path.lstat()
        is_directory = stat.S_ISDIR(status.st_mode)
        found[name] = {
            "mode": oct(status.st_mode),
            "owner": (status.st_uid, status.st_gid),
            "time": None if is_directory else int(status.st_mtime),
            "target": path.readlink() if path.is_symlink() else None,
            "content": path.read_bytes() if stat.S_ISREG(status.st_mode) else None,
            "attributes": dict(attributes_of(path)),
        }
        if not is_directory:
            names.setdefault(status.st_ino, []).append(name)
    return found, {tuple(group) for group in names.values() if len(group) > 1}


def wrong_times(root: Path, times: dict[str, float]) -> list[str]:
    """Directories that the highest layer describes and that have another time than it says."""
    described = {root / name: time for name, time in times.items()}
    return [
        f"{path}: {path.stat().st_mtime} instead of {time}"
        for path, time in described.items()
        if path.is_dir() and path.resolve() == path and int(path.stat().st_mtime) != int(time)
    ]


def attributes_of(path: Path) -> Iterator[tuple[str, bytes]]:
    if path.is_symlink():
        return
    for name in os.listxattr(path, follow_symlinks=False):
        if name.startswith("user."):
            yield name, os.getxattr(path, name, follow_symlinks=False)


def test_a_difference_between_two_trees_is_seen(tmp_path: Path) -> None:
    for name in ("one", "two"):
        (tmp_path / name / "d").mkdir(parents=True)
        (tmp_path / name / "d/f").write_bytes(b"x")
        os.utime(tmp_path / name / "d/f", (1, 1))
    (tmp_path / "two/d/g").hardlink_to(tmp_path / "two/d/f")

    assert tree_of(tmp_path / "one") != tree_of(tmp_path / "two")
