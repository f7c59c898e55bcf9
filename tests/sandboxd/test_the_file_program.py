"""The program that writes files in a sandbox, run beside it, with the kernel's answers changed.

strace stands between the program and the kernel: it lets a call fail, or chooses the random name of
the temporary file. What the program does then shows that it asks for the right things in the right
order.
"""

import errno
import os
import shutil
import subprocess
from pathlib import Path

import pytest

from sandboxd.runtime.programs import files_program

pytestmark = pytest.mark.root
ZEROS = "getrandom:retval=8:poke_exit=@arg1=0000000000000000:when=1"
FIRST_NAME = ".sandboxd-0-0-0-0-0-0-0-0"


@pytest.fixture(autouse=True)
def _needs_strace() -> None:
    if shutil.which("strace") is None:
        if os.environ.get("CI") == "true":
            pytest.fail("must not be missing in CI: strace")
        pytest.skip("strace is not installed")


def write(
    path: Path, content: bytes, *, inject: str = "", mode: str = "-", log: Path | None = None
) -> "subprocess.CompletedProcess[bytes]":
    program = path.parent.parent / "files"
    shutil.copyfile(files_program(), program)
    program.chmod(0o755)
    options = [*(["-e", f"inject={inject}"] if inject else []), "-o", str(log or os.devnull)]
    words = ["strace", "-f", *options, str(program), "write", str(path), mode, "0"]
    return subprocess.run(words, input=content, capture_output=True, check=False, timeout=30)


@pytest.fixture
def target(tmp_path: Path) -> Path:
    (tmp_path / "d").mkdir()
    (tmp_path / "d/file").write_bytes(b"old")
    return tmp_path / "d/file"


def test_a_file_is_synced_before_it_gets_its_name_and_its_directory_afterwards(
    target: Path, tmp_path: Path
) -> None:
    assert write(target, b"new", log=tmp_path / "log").returncode == 0

    lines = (tmp_path / "log").read_text("utf-8").splitlines()
    steps = [line.split(None, 1)[1].split("(")[0] for line in lines]
    order = [step for step in steps if step in {"write", "fsync", "renameat2"}]
    assert order[:4] == ["write", "fsync", "renameat2", "fsync"]


@pytest.mark.parametrize("error", ["EIO", "ENOSPC"])
def test_a_file_that_cannot_be_synced_does_not_replace_the_old_one(
    target: Path, error: str
) -> None:
    done = write(target, b"new", inject=f"fsync:error={error}:when=1")

    assert done.returncode == 1
    assert done.stderr.split() == [b"replace", str(getattr(errno, error)).encode()]
    assert target.read_bytes() == b"old"
    assert os.listdir(target.parent) == ["file"]  # noqa: PTH208


def test_a_directory_that_cannot_be_synced_is_told(target: Path) -> None:
    done = write(target, b"new", inject="fsync:error=EIO:when=2")

    assert done.stderr.split() == [b"fsync", b"directory", str(errno.EIO).encode()]


@pytest.mark.parametrize("trap", ["link", "dangling link", "file", "hard link"])
def test_whatever_waits_under_the_temporary_name_is_neither_followed_nor_overwritten(
    target: Path, tmp_path: Path, trap: str
) -> None:
    """A process of the sandbox guesses the name and plants something there first."""
    victim, planted = tmp_path / "victim", target.parent / FIRST_NAME
    victim.write_bytes(b"untouched")
    if trap == "link":
        planted.symlink_to(victim)
    elif trap == "dangling link":
        planted.symlink_to(tmp_path / "appears")
    elif trap == "file":
        planted.write_bytes(b"untouched")
    else:
        planted.hardlink_to(victim)

    done = write(target, b"new", inject=ZEROS)

    assert done.returncode == 0, done.stderr
    assert target.read_bytes() == b"new"
    assert victim.read_bytes() == b"untouched"
    assert not (tmp_path / "appears").exists()
    assert planted.is_symlink() == ("link" in trap and trap != "hard link")
    assert sorted(os.listdir(target.parent)) == [FIRST_NAME, "file"]  # noqa: PTH208


def test_attributes_and_access_lists_go_over_to_the_new_content(target: Path) -> None:
    os.setxattr(target, "user.note", b"kept")
    os.chown(target, 5, 6)
    target.chmod(0o4750)

    assert write(target, b"new").returncode == 0

    status = target.stat()
    assert (status.st_uid, status.st_gid, status.st_mode & 0o7777) == (5, 6, 0o4750)
    assert os.getxattr(target, "user.note") == b"kept"


def test_attributes_that_cannot_be_kept_keep_the_old_file(target: Path) -> None:
    os.setxattr(target, "user.note", b"kept")

    done = write(target, b"new", inject="fsetxattr:error=ENOSPC")

    assert done.returncode == 1
    assert target.read_bytes() == b"old"
    assert os.listdir(target.parent) == ["file"]  # noqa: PTH208


def test_the_injection_itself_works(target: Path) -> None:
    """Without it, tests above could pass because the name was never the planted one."""
    done = write(target, b"new", inject=f"{ZEROS.removesuffix(':when=1')}")
    (target.parent / FIRST_NAME).touch()
    stuck = write(target, b"new", inject=f"{ZEROS.removesuffix(':when=1')}")

    assert done.returncode == 0
    assert stuck.stderr.split() == [b"create", str(errno.EEXIST).encode()]
