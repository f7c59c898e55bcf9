"""The journal against its disk: what is durable when a method returns, and what a failing disk may
cost. The steps fail by their names (`sandboxd.storage.door`), and on real small file systems.
"""

import contextlib
import errno
import os
import subprocess
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from sandboxd.faults import Refused, Retryable
from sandboxd.ledger.epoch import Epoch
from sandboxd.ledger.journal import Entry, Journal
from sandboxd.ledger.outputs import Outputs
from sandboxd.storage import door
from sandboxd.storage.door import Step, Write

KEEP = 10
REPLACING: tuple[Step, ...] = ("make", "write", "sync", "rename", "sync directory")


def entry(operation: str) -> Entry:
    return Entry(
        operation=operation,
        kind="exec",
        sandbox="box",
        instance="0" * 32,
        body_hash="h",
        started_at_ms=1,
    )


def finish(journal: Journal, operation: str) -> None:
    journal.finish(operation, at_ms=2, succeeded=True, outcome="{}")


def fill(journal: Journal) -> None:
    """Up to the line before the journal is written anew."""
    for count in range(4 * KEEP):
        name = f"filling-{count}"
        for act in (
            lambda name=name: journal.start(entry(name)),
            lambda name=name: finish(journal, name),
            lambda name=name: journal.acknowledge(name),
        ):
            if journal.lines > 4 * KEEP:
                return
            act()


def known(path: Path) -> dict[str, str]:
    """What the next daemon reads from a copy of the file as it is now."""
    copy = path.with_name("copy")
    copy.write_bytes(path.read_bytes())
    journal = Journal(copy, keep=1000)
    journal.close()
    return {found.operation: found.phase for found in journal.entries()}


def descriptors() -> int:
    return len(list(Path("/proc/self/fd").iterdir()))


Fail = Callable[[str], None]


@pytest.fixture
def fail(monkeypatch: pytest.MonkeyPatch) -> Fail:
    """Lets a step fail from now on; "" lets the disk be well again."""
    failing: list[str] = [""]

    def observe(what: Write, how: Step) -> None:
        if f"{what}/{how}" == failing[0]:
            raise OSError(errno.EIO, os.strerror(errno.EIO))

    monkeypatch.setattr(door, "OBSERVERS", [observe])

    def switch(where: str) -> None:
        failing[0] = where

    return switch


def _inode(file: int | Path) -> str:
    found = Path(f"/proc/self/fd/{file}").stat() if isinstance(file, int) else file.stat()
    return f"{found.st_dev}:{found.st_ino}"


class Disk:
    """Watches which bytes are on the disk for sure: only what was synced after it was written."""

    def __init__(self, patch: pytest.MonkeyPatch) -> None:
        self.dirty: set[str] = set()
        self.renamed_dirty: list[str] = []
        self.names_dirty: set[str] = set()
        write, sync, rename = os.write, os.fsync, Path.replace

        def watched_write(descriptor: int, raw: bytes) -> int:
            self.dirty.add(_inode(descriptor))
            return write(descriptor, raw)

        def watched_sync(descriptor: int) -> None:
            sync(descriptor)
            self.dirty.discard(_inode(descriptor))
            self.names_dirty.discard(str(Path(f"/proc/self/fd/{descriptor}").readlink()))

        def watched_rename(path: Path, target: Path) -> Path:
            if _inode(path) in self.dirty:
                self.renamed_dirty.append(path.name)
            self.names_dirty.add(str(path.parent))
            return rename(path, target)

        patch.setattr(os, "write", watched_write)
        patch.setattr(os, "fsync", watched_sync)
        patch.setattr(os, "fdatasync", watched_sync)
        patch.setattr(Path, "replace", watched_rename)

    @property
    def is_settled(self) -> bool:
        return not self.dirty and not self.names_dirty and not self.renamed_dirty


@pytest.fixture
def disk(monkeypatch: pytest.MonkeyPatch) -> Disk:
    return Disk(monkeypatch)


def test_a_line_is_on_the_disk_before_the_journal_says_so(tmp_path: Path, disk: Disk) -> None:
    journal = Journal(tmp_path / "journal", keep=100)
    settled = []
    for act in (
        lambda: journal.start(entry("a")),
        lambda: finish(journal, "a"),
        lambda: journal.acknowledge("a"),
        lambda: journal.start(entry("b")),
        lambda: journal.interrupt("b", at_ms=3),
    ):
        act()
        settled.append(disk.is_settled)
    journal.close()

    assert settled == [True] * 5


def test_a_rewritten_journal_is_on_the_disk_before_it_takes_the_old_ones_name(
    tmp_path: Path, disk: Disk
) -> None:
    journal = Journal(tmp_path / "journal", keep=KEEP)
    fill(journal)
    before = (tmp_path / "journal").stat().st_ino

    journal.start(entry("next"))

    assert (tmp_path / "journal").stat().st_ino != before
    assert disk.renamed_dirty == []
    assert disk.is_settled
    journal.close()


@pytest.mark.parametrize("what", ["epoch", "sandbox record", "node id", "journal key"])
def test_every_small_file_is_on_the_disk_before_it_takes_its_name_and_the_name_after(
    tmp_path: Path, disk: Disk, what: Write
) -> None:
    door.replace_durably(what, tmp_path / "file", "content")

    assert (tmp_path / "file").read_text() == "content"
    assert disk.is_settled


@pytest.mark.parametrize("how", REPLACING)
def test_a_rewrite_that_fails_loses_neither_the_journal_nor_a_descriptor(
    tmp_path: Path, fail: Fail, how: Step
) -> None:
    journal = Journal(tmp_path / "journal", keep=KEEP)
    fill(journal)
    before = descriptors()
    fail(f"journal/{how}")
    for number in range(3):
        with contextlib.suppress(Retryable):
            journal.start(entry(f"while-{number}"))
    assert descriptors() == before
    fail("")

    journal.start(entry("after"))
    finish(journal, "after")

    assert descriptors() == before
    assert not (tmp_path / "journal.new").exists()
    told = {found.operation: found.phase for found in journal.entries()}
    assert known(tmp_path / "journal") == told
    assert told["after"] == "finished"
    journal.close()


@pytest.mark.parametrize("how", ["write", "sync"])
def test_an_end_that_the_disk_does_not_take_is_known_and_comes_with_the_next_line(
    tmp_path: Path, fail: Fail, how: Step
) -> None:
    journal = Journal(tmp_path / "journal", keep=100)
    journal.start(entry("a"))
    fail(f"journal/{how}")
    with pytest.raises(Retryable):
        finish(journal, "a")
    now = journal.find("a")
    fail("")

    journal.start(entry("b"))

    assert now is not None
    assert now.phase == "finished"
    assert known(tmp_path / "journal") == {"a": "finished", "b": "started"}
    journal.close()


def test_an_end_that_the_disk_did_not_take_is_written_when_the_journal_is_closed(
    tmp_path: Path, fail: Fail
) -> None:
    journal = Journal(tmp_path / "journal", keep=100)
    journal.start(entry("a"))
    fail("journal/sync")
    with pytest.raises(Retryable):
        finish(journal, "a")
    fail("")

    journal.close()

    assert known(tmp_path / "journal") == {"a": "finished"}


def test_a_start_that_the_disk_does_not_take_did_not_happen(tmp_path: Path, fail: Fail) -> None:
    journal = Journal(tmp_path / "journal", keep=100)
    for how in ("write", "sync"):
        fail(f"journal/{how}")
        with pytest.raises(Retryable):
            journal.start(entry("a"))
        fail("")

    assert journal.find("a") is None
    assert journal.start(entry("a"))
    journal.close()


def test_an_epoch_that_the_disk_does_not_take_is_not_admitted(tmp_path: Path, fail: Fail) -> None:
    epoch = Epoch(tmp_path / "epoch")
    epoch.admit(3)
    fail("epoch/write")
    with pytest.raises(Retryable):
        epoch.admit(4)
    fail("")

    epoch.admit(3)

    assert (epoch.highest, Epoch(tmp_path / "epoch").highest) == (3, 3)
    epoch.admit(4)
    with pytest.raises(Refused):
        Epoch(tmp_path / "epoch").admit(3)


@pytest.mark.parametrize("where", ["output/make", "output/write", "output/remove"])
def test_a_tmpfs_that_takes_nothing_loses_outputs_and_answers_all_the_same(
    tmp_path: Path, fail: Fail, where: str
) -> None:
    outputs = Outputs(tmp_path / "outputs", limit_bytes=100)
    outputs.put("old", b"o" * 80, b"")
    fail(where)
    outputs.put("new", b"n" * 80, b"")
    fail("")

    assert outputs.get("new") == ((b"n" * 80, b"") if where == "output/remove" else None)


def test_half_an_output_is_lost_and_never_shown_as_the_whole(tmp_path: Path) -> None:
    outputs = Outputs(tmp_path / "outputs", limit_bytes=100)
    outputs.put("a", b"out", b"err")
    raw = (tmp_path / "outputs/a").read_bytes()

    for size in range(len(raw)):
        (tmp_path / "outputs/a").write_bytes(raw[:size])
        assert outputs.get("a") is None


@pytest.fixture
def small(tmp_path: Path, needs_node: None) -> Iterator[Path]:
    """A tmpfs with 20 inodes and a quarter of a megabyte."""
    place = tmp_path / "small"
    place.mkdir()
    words = ["mount", "-t", "tmpfs", "-o", "size=256k,nr_inodes=20", "none", str(place)]
    subprocess.run(words, check=True)
    yield place
    subprocess.run(["umount", str(place)], check=True)


def take_all_inodes(place: Path) -> None:
    for number in range(30):
        (place / f"fill-{number}").touch()


@pytest.mark.root
def test_a_disk_without_inodes_lets_the_journal_go_on_in_its_old_file(small: Path) -> None:
    journal = Journal(small / "journal", keep=KEEP)
    fill(journal)
    before = descriptors()
    with pytest.raises(OSError, match="No space"):
        take_all_inodes(small)
    for number in range(30):
        assert journal.start(entry(f"op-{number}"))
        finish(journal, f"op-{number}")
        journal.acknowledge(f"op-{number}")
    for file in small.glob("fill-*"):
        file.unlink()
    longest = journal.lines
    for number in range(60):
        journal.start(entry(f"more-{number}"))
        finish(journal, f"more-{number}")
        journal.acknowledge(f"more-{number}")

    assert longest > 100
    assert journal.lines < longest
    assert descriptors() == before
    assert known(small / "journal") == {e.operation: e.phase for e in journal.entries()}
    journal.close()


@pytest.mark.root
def test_a_disk_without_blocks_refuses_and_takes_lines_again_when_there_is_room(
    small: Path,
) -> None:
    journal = Journal(small / "journal", keep=100)
    journal.start(entry("before"))
    with pytest.raises(OSError, match="No space"):
        (small / "fill").write_bytes(b"x" * 300_000)
    refused = 0
    for number in range(60):
        try:
            journal.start(entry(f"op-{number}"))
        except Retryable:
            refused += 1
    (small / "fill").unlink()

    journal.start(entry("after"))

    told = {found.operation: found.phase for found in journal.entries()}
    assert refused > 0
    assert known(small / "journal") == told
    assert "after" in told
    journal.close()
