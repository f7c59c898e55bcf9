"""Power loss on a disk with a volatile cache: what was not flushed may be lost, torn or reordered.

A writer works on a disk that logs each write and flush. Then for many moments the image is built
that a power loss at that moment could leave: everything before the last flush, and of what came
after it any part of any write. Each image is mounted and verified.
"""

import bisect
import os
import random
import signal
import struct
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from gate.lines import Broken
from gate.power.cuts import Tally, listen, start_writer
from gate.power.verifier import Account
from gate.rig.stack import Stack, mounted_root
from sandboxd import _native
from sandboxd.faults import Fault
from sandboxd.storage.disk import create_disk
from sandboxd.wire import MIN_DISK_BYTES

_RECORD = struct.Struct("<QII")
_BLOCK_BYTES = 4096
"""Written whole or not at all, as disks with 4 KiB sectors do and XFS (4 KiB blocks) needs."""
_CHUNK_BYTES = 65536
_SHOWN = 5
_TORN_SHARE = 0.3
_IGNORED_SHARE = 0.5
"""How much of what came before, counted from the moment, a disk that ignores flushes may lose."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Logged:
    """One record of the log: where its bytes lie in the log file; a flush has none."""

    offset: int
    length: int
    at: int
    is_flush: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class Recording:
    """A finished run: the log, and what the writer had told when the log had how many records."""

    base: Path
    log: Path
    records: tuple[Logged, ...]
    told: tuple[tuple[int, bytes], ...]


class _Teller(Account):
    """Remembers what was told, and how long the log was just after."""

    def __init__(self, position: Path) -> None:
        super().__init__()
        self.told: list[tuple[int, bytes]] = []
        self._position = position

    def hear(self, told: bytes) -> None:
        super().hear(told)
        self.told.append((int(self._position.read_text("ascii")), told))


def record(stack: Stack, flushlog: Path, *, steps: int) -> Recording:
    """Lets a writer work until it has acknowledged `steps` steps, and keeps the log."""
    base, image, log = (stack.place / name for name in ("base", "live", "log"))
    create_disk(base, size_bytes=MIN_DISK_BYTES, loops=stack.loops)
    _copy_sparse(base, image)
    with _serving(flushlog, stack.place / "fuse", image, log) as served:
        teller = _Teller(served / "position")
        with mounted_root(stack, served / "disk") as root:
            writer = start_writer(root.path, teller, owner=stack.writer_id)
            try:
                listen(writer.pipe, teller, until=steps)
            finally:
                teller.hear(writer.end())
    image.unlink()
    return Recording(base=base, log=log, records=tuple(_read_log(log)), told=tuple(teller.told))


@contextmanager
def _serving(flushlog: Path, place: Path, image: Path, log: Path) -> Iterator[Path]:
    place.mkdir()
    server = subprocess.Popen(
        [flushlog, place, image, log],
        stdout=subprocess.PIPE,
        preexec_fn=lambda: _native.die_with_parent(signal.SIGKILL),  # noqa: PLW1509 (one thread)
    )
    try:
        if server.stdout is None or server.stdout.readline() != b"serving\n":
            raise Broken("the logging disk cannot be served: /dev/fuse is needed")
        yield place
        _native.umount2(str(place), 0)
        server.wait(10)
    finally:
        server.kill()
        server.wait()
        if server.stdout is not None:
            server.stdout.close()


def _read_log(log: Path) -> Iterator[Logged]:
    with log.open("rb") as file:
        while raw := file.read(_RECORD.size):
            offset, length, is_flush = _RECORD.unpack(raw)
            yield Logged(offset=offset, length=length, at=file.tell(), is_flush=bool(is_flush))
            file.seek(length, os.SEEK_CUR)


def lose_power(
    stack: Stack, recording: Recording, *, points: int, ignores_flush: bool, seed: int = 0
) -> Tally:
    """Builds and verifies the disk at `points` moments of the recording."""
    chance = random.Random(seed)  # noqa: S311 (repeatable, no secret)
    count = len(recording.records)
    moments = sorted(chance.sample(range(count // 10, count), min(points, count - count // 10)))
    flushes = [n for n, one in enumerate(recording.records) if one.is_flush]
    tally = Tally(cuts=0, acknowledged=0, violations=0, first=[])
    kept, kept_until = stack.place / "kept", 0
    _copy_sparse(recording.base, kept)
    for moment in moments:
        before = bisect.bisect_left(flushes, moment)
        safe = flushes[before - 1] + 1 if before else 0
        if ignores_flush:
            safe = int(safe * _IGNORED_SHARE)
        if safe > kept_until:
            _replay(recording, kept, range(kept_until, safe))
            kept_until = safe
        shown = stack.place / "shown"
        _copy_sparse(kept, shown)
        _replay(recording, shown, range(safe, moment), chance)
        account = _account_at(recording, moment)
        wrong = _look(stack, shown, account)
        shown.unlink()
        tally["cuts"] += 1
        tally["acknowledged"] += account.acknowledged
        tally["violations"] += len(wrong)
        tally["first"] = [*tally["first"], *wrong][:_SHOWN]
    kept.unlink()
    return tally


def _account_at(recording: Recording, moment: int) -> Account:
    """What was acknowledged by then counts; what was told later may have happened or not."""
    account = Account()
    late = b""
    for position, told in recording.told:
        if position <= moment:
            account.hear(told)
        else:
            late += told
    account.hear_late(late)
    return account


def _look(stack: Stack, image: Path, account: Account) -> list[str]:
    try:
        with mounted_root(stack, image) as root:
            return account.verify(root.path)
    except (OSError, Fault) as error:
        return [f"the disk cannot be used any more: {error}"]


def _replay(
    recording: Recording, image: Path, which: range, chance: random.Random | None = None
) -> None:
    """Applies writes of the log; with `chance`, only some of them, and some only in part."""
    chosen = [n for n in which if not recording.records[n].is_flush]
    if chance is not None:
        chosen = [n for n in chosen if chance.random() < 0.5]
        chance.shuffle(chosen)
    with recording.log.open("rb") as log, image.open("rb+") as disk:
        for number in chosen:
            one = recording.records[number]
            log.seek(one.at)
            disk.seek(one.offset)
            disk.write(log.read(_torn_length(one, chance) if chance else one.length))


def _torn_length(write: Logged, chance: random.Random) -> int:
    """How much of a write arrives: mostly all, sometimes only its first blocks."""
    first = -write.offset % _BLOCK_BYTES or _BLOCK_BYTES
    ends = range(first, write.length, _BLOCK_BYTES)
    return chance.choice(ends) if ends and chance.random() < _TORN_SHARE else write.length


def _copy_sparse(source: Path, target: Path) -> None:
    """A copy without the zeros; most of a fresh disk is."""
    with source.open("rb") as old, target.open("wb") as new:
        size = os.fstat(old.fileno()).st_size
        new.truncate(size)
        at = 0
        while at < size:
            try:
                at = os.lseek(old.fileno(), at, os.SEEK_DATA)
            except OSError:
                break
            end = os.lseek(old.fileno(), at, os.SEEK_HOLE)
            _copy_range(old.fileno(), new.fileno(), at, end)
            at = end


def _copy_range(old: int, new: int, start: int, end: int) -> None:
    zeros = bytes(_CHUNK_BYTES)
    for at in range(start, end, _CHUNK_BYTES):
        piece = os.pread(old, min(_CHUNK_BYTES, end - at), at)
        if piece != zeros[: len(piece)]:
            os.pwrite(new, piece, at)
