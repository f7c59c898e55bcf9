"""Power loss by shutting the file system down under a writer: real log recovery, many times over.

One cut: the writer works in the root file system; at a moment of chance the disk's file system is
shut down without flushing its log, everything is unmounted, mounted again and verified.
"""

import contextlib
import os
import random
import select
import subprocess
import time
from collections.abc import Callable
from contextlib import AbstractContextManager
from pathlib import Path
from typing import TypedDict

from gate.lines import Broken
from gate.power.verifier import Account
from gate.power.workload import Writer
from gate.rig.chamber import end_writer, spawn_writer
from gate.rig.stack import MountedRoot, Stack, forget_volatile, mounted_root, volatile_root
from sandboxd.storage.disk import create_disk
from sandboxd.wire import MIN_DISK_BYTES

CUTS_OF_A_DISK = 20
_STEPS_OF_A_CUT = (60, 180)
_TELLS_WITHIN_S = 20.0
_CHUNK_BYTES = 65536
_CHECK_WITHIN_S = 120
_SHOWN = 5


class Tally(TypedDict):
    """What a series of cuts came to."""

    cuts: int
    acknowledged: int
    violations: int
    first: list[str]


def cut_many(stack: Stack, cuts: int) -> Tally:
    """Cuts the power `cuts` times; a new disk every now and then, each checked at its end."""
    tally = Tally(cuts=0, acknowledged=0, violations=0, first=[])
    while tally["cuts"] < cuts:
        image = stack.place / f"disk-{tally['cuts']}"
        create_disk(image, size_bytes=MIN_DISK_BYTES, loops=stack.loops)
        account = Account()
        with mounted_root(stack, image):
            pass
        for _ in range(min(CUTS_OF_A_DISK, cuts - tally["cuts"])):
            _cut_once(stack, image, account, seed=tally["cuts"])
            with mounted_root(stack, image) as root:
                count(tally, account.verify(root.path))
            tally["cuts"] += 1
        tally["acknowledged"] += account.acknowledged
        count(tally, check_disk(image))
        image.unlink()
    return tally


def cut_volatile(stack: Stack) -> Tally:
    """The control: one cut under a volatile mount, where fsync does nothing."""
    image = stack.place / "disk-volatile"
    create_disk(image, size_bytes=MIN_DISK_BYTES, loops=stack.loops)
    account = Account()
    _cut_once(stack, image, account, seed=0, mount=volatile_root, as_root=True)
    forget_volatile(stack, image)
    tally = Tally(cuts=1, acknowledged=account.acknowledged, violations=0, first=[])
    try:
        with volatile_root(stack, image) as root:
            count(tally, account.verify(root.path))
    except OSError as error:
        count(tally, [f"what was acknowledged cannot even be read: {error}"])
    image.unlink()
    return tally


def count(tally: Tally, wrong: list[str]) -> None:
    """Adds what was wrong; the first few are kept as they are."""
    tally["violations"] += len(wrong)
    tally["first"] = [*tally["first"], *wrong][:_SHOWN]


def _cut_once(
    stack: Stack,
    image: Path,
    account: Account,
    *,
    seed: int,
    mount: Callable[[Stack, Path], AbstractContextManager[MountedRoot]] = mounted_root,
    as_root: bool = False,
) -> None:
    steps = random.Random(seed).randint(*_STEPS_OF_A_CUT)  # noqa: S311 (repeatable, no secret)
    with mount(stack, image) as root:
        writer = start_writer(root.path, account, owner=0 if as_root else stack.writer_id)
        try:
            listen(writer.pipe, account, until=account.acknowledged + steps)
            root.cut_power()
            account.hear_late(_last_words(writer.pipe))
        finally:
            writer.end()
            account.end_of_writer()


class RunningWriter:
    """A writer in a child, and the pipe it tells by."""

    def __init__(self, child: int, pipe: int) -> None:
        self._child = child
        self.pipe = pipe

    def end(self) -> bytes:
        """Kills it, if it still runs. Returns what it told last and nobody had heard."""
        end_writer(self._child)
        try:
            return _last_words(self.pipe)
        finally:
            os.close(self.pipe)


def start_writer(root: Path, account: Account, *, owner: int) -> RunningWriter:
    """Starts a writer that goes on where the account stands, as the user `owner`."""
    writer = Writer(
        Path(), first=account.next_number, spent=account.spent, seed=account.next_number
    )

    def work(pipe: int) -> None:
        os.chdir(root)  # The way here may be closed to its new user.
        os.setresgid(owner, owner, owner)
        os.setresuid(owner, owner, owner)
        writer.work(pipe)

    return RunningWriter(*spawn_writer(work))


def listen(pipe: int, account: Account, *, until: int) -> None:
    """Hears the writer until it has acknowledged `until` steps in all.

    Raises: Broken when the guest says nothing in time.
    """
    deadline = time.monotonic() + _TELLS_WITHIN_S
    while account.acknowledged < until:
        told = _hear_once(pipe, deadline)
        if not told:
            raise Broken(f"the writer ended before its time, after {account.acknowledged}")
        account.hear(told)


def _last_words(pipe: int) -> bytes:
    """What a writer that cannot go on still tells, until it ends."""
    deadline = time.monotonic() + _TELLS_WITHIN_S
    words = b""
    while told := _hear_once(pipe, deadline):
        words += told
    return words


def _hear_once(pipe: int, deadline: float) -> bytes:
    if not select.select([pipe], [], [], max(0.0, deadline - time.monotonic()))[0]:
        raise Broken("the writer says nothing any more")
    return os.read(pipe, _CHUNK_BYTES)


def check_disk(image: Path) -> list[str]:
    """What xfs_repair finds; it changes nothing."""
    with contextlib.suppress(FileNotFoundError):
        found = subprocess.run(
            ["xfs_repair", "-n", "-f", image],
            capture_output=True,
            text=True,
            check=False,
            timeout=_CHECK_WITHIN_S,
        )
        if found.returncode != 0:
            return [f"xfs_repair finds damage: {found.stdout[-300:]}"]
    return []
