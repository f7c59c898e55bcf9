"""Unpacks the layers of an image into a directory, in a child that is locked into it.

A layer is hostile input. The child calls chroot before it reads one, keeps only the capabilities
that restoring owners and modes needs, and has every size and count limited, so that path tricks
stay inside the new tree and are refused on top of that. What a layer may hold and what becomes of
it stands in `tree.py`.
"""

import contextlib
import enum
import gzip
import hashlib
import io
import os
import resource
import select
import shutil
import signal
import subprocess
import tarfile
import zlib
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import BinaryIO, cast

from typing_extensions import Buffer

from sandboxd import _native
from sandboxd.faults import Misconfigured, Refused
from sandboxd.images.layout import Layer
from sandboxd.images.tree import SetIdBits, Tree, apply_whiteouts, clean_name, is_whiteout

_MEMORY_BYTES = 1024**3
"""Headers of a tar are read whole; one may claim to be of any size."""
_LOOK_EVERY_MS = 200
_NOBODY = 65534
_ZSTD_WINDOW = "--memory=128MB"
_CHUNK_BYTES = 1024 * 1024
_TAR_OVERHEAD_BYTES = 4096
_CAPABILITIES = sum(1 << number for number in (0, 1, 3, 4))
"""CHOWN, DAC_OVERRIDE, FOWNER, FSETID."""
_REFUSED_STATUS = 3


Progress = Callable[[str, int, int], None]
"""Called with what is being done, how many bytes of it are done, and how many there are."""


def ignore_progress(_what: str, _done: int, _total: int) -> None:
    """For callers that show none."""


@dataclass(frozen=True, slots=True, kw_only=True)
class UnpackLimits:
    """What one image may unpack to, and what becomes of its set-id files."""

    total_bytes: int = 16 * 1024**3
    entries: int = 1_000_000
    file_bytes: int = 4 * 1024**3
    set_id_bits: SetIdBits = "keep"


def unpack_layers(
    layers: Sequence[Layer],
    tree: Path,
    limits: UnpackLimits,
    progress: Progress = ignore_progress,
) -> None:
    """Unpacks into the empty directory `tree`. Raises: Refused with the reason.

    Each layer above the first is read twice: its whiteouts come first, wherever they stand.
    """
    budget = _Budget(limits)
    steps = [(layer, _Step(what)) for layer in layers for what in ("whiten", "fill")][1:]
    total, before = sum(layer.size_bytes for layer, _ in steps), 0
    for layer, step in steps:
        with layer.path.open("rb") as blob:
            moved = partial(_show_moved, progress, before, total)
            words = _in_a_child((layer, blob), tree, (step, budget), moved)
        before += layer.size_bytes
        progress("unpack", before, total)
        try:
            budget.spent_bytes, budget.spent_entries = map(int, words.split())
        except ValueError:
            raise Refused(f"the image cannot be unpacked: {words or 'out of bounds'}") from None


def _show_moved(progress: Progress, before: int, total: int, moved: int) -> None:
    progress("unpack", before + moved, total)


def _in_a_child(
    given: tuple[Layer, BinaryIO],
    tree: Path,
    task: tuple["_Step", "_Budget"],
    moved: Callable[[int], None],
) -> str:
    """One step of a layer. Returns what the child said: two numbers, or why it refused."""
    layer, blob = given
    with _plain(layer, blob) as plain:
        hear, say = os.pipe()
        child = os.fork()
        if child == 0:
            os.close(hear)
            _be_the_child(say, tree, (layer, plain), task)
        os.close(say)
        with os.fdopen(hear, "rb") as words:
            poller = select.poll()
            poller.register(words, select.POLLIN)
            while not poller.poll(_LOOK_EVERY_MS):
                moved(os.lseek(blob.fileno(), 0, os.SEEK_CUR))  # The child shares the offset.
            reason = words.read(4096).decode("utf-8", "replace")
        _, status = os.waitpid(child, 0)
    return reason if os.waitstatus_to_exitcode(status) in {0, _REFUSED_STATUS} else ""


@contextlib.contextmanager
def _plain(layer: Layer, blob: BinaryIO) -> Iterator[BinaryIO]:
    """The layer, unpacked from zstd by a program that has neither files nor privileges."""
    if layer.compression != "zstd":
        yield blob
        return
    program = shutil.which("zstd")
    if program is None:
        raise Misconfigured("zstd is not installed", remedy="apt install zstd")
    unpacker = subprocess.Popen(
        (program, "--decompress", "--stdout", "--quiet", _ZSTD_WINDOW),
        stdin=blob,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        user=_NOBODY,
        group=_NOBODY,
        extra_groups=(),
    )
    with unpacker:
        try:
            if unpacker.stdout is None:
                raise Misconfigured("zstd has no output")
            yield cast("BinaryIO", unpacker.stdout)
        finally:
            unpacker.kill()


def _be_the_child(
    words: int, tree: Path, given: tuple[Layer, BinaryIO], task: tuple["_Step", "_Budget"]
) -> None:
    status, said = _REFUSED_STATUS, ""
    step, budget = task
    try:
        _native.die_with_parent(signal.SIGKILL)
        os.umask(0o022)
        os.chroot(tree)
        os.chdir("/")
        _native.limit_capabilities(_CAPABILITIES)
        resource.setrlimit(resource.RLIMIT_AS, (_MEMORY_BYTES, _MEMORY_BYTES))
        _take_layer(*given, step, budget)
        status, said = 0, f"{budget.spent_bytes} {budget.spent_entries}"
    except (
        *(Refused, OSError, tarfile.TarError, zlib.error),
        *(EOFError, ValueError, ArithmeticError, MemoryError, RecursionError),
    ) as error:
        said = str(error) or type(error).__name__
    finally:
        os.write(words, said.encode("utf-8", "replace")[:4000])
        os._exit(status)


class _Step(enum.Enum):
    """What is done with a layer: what it takes away, then what it brings."""

    WHITEN = "whiten"
    FILL = "fill"


class _Budget:
    def __init__(self, limits: UnpackLimits) -> None:
        self.limits = limits
        self.spent_bytes = 0
        self.spent_entries = 0
        self.stream_bytes = limits.total_bytes + limits.entries * _TAR_OVERHEAD_BYTES

    def spend(self, size: int) -> None:
        self.spent_bytes += size
        self.spent_entries += 1
        if size > self.limits.file_bytes:
            raise Refused("a file is larger than allowed")
        is_over = self.spent_bytes > self.limits.total_bytes
        if is_over or self.spent_entries > self.limits.entries:
            raise Refused("the image unpacks to more than allowed")


class _Hashed(io.RawIOBase):
    """Passes a stream on and hashes it: the plain tar must match the diff_id."""

    def __init__(self, inner: BinaryIO | gzip.GzipFile, ceiling_bytes: int) -> None:
        self._inner = inner
        self._left = ceiling_bytes
        self.sha256 = hashlib.sha256()

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: Buffer) -> int:
        view = memoryview(buffer)
        chunk = self._inner.read(len(view))
        self._left -= len(chunk)
        if self._left < 0:
            raise Refused("a layer unpacks to more than allowed")
        self.sha256.update(chunk)
        view[: len(chunk)] = chunk
        return len(chunk)


def _take_layer(layer: Layer, file: BinaryIO, step: _Step, budget: _Budget) -> None:
    plain = gzip.GzipFile(fileobj=file) if layer.compression == "gzip" else file
    hashed = _Hashed(plain, budget.stream_bytes)
    buffered = io.BufferedReader(hashed, _CHUNK_BYTES)
    with tarfile.open(fileobj=buffered, mode="r|") as archive:
        if step is _Step.WHITEN:
            apply_whiteouts(_entries(archive, _Budget(budget.limits)))
        else:
            tree = Tree(budget.limits.set_id_bits)
            for path, entry in _entries(archive, budget):
                if not is_whiteout(path):
                    tree.put(archive, entry, path)
            tree.finish()
    while buffered.read(_CHUNK_BYTES):
        pass  # What follows the archive's end belongs to the digest too.
    if f"sha256:{hashed.sha256.hexdigest()}" != layer.diff_id:
        raise Refused(f"the layer {layer.digest} does not match its diff_id")


def _entries(archive: tarfile.TarFile, budget: _Budget) -> Iterator[tuple[Path, tarfile.TarInfo]]:
    for entry in archive:
        headers = sum(len(value) for value in entry.pax_headers.values())
        budget.spend((entry.size if entry.isreg() else 0) + headers)
        yield clean_name(entry.name), entry
