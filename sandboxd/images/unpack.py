"""Unpacks the layers of an image into a directory, in a child that is locked into it.

A layer is hostile input. The child calls chroot before it reads one, keeps only the capabilities
that restoring owners and modes needs, and has every size and count limited, so that path tricks
stay inside the new tree and are refused on top of that.
"""

import contextlib
import gzip
import hashlib
import io
import os
import resource
import select
import shutil
import signal
import stat
import subprocess
import tarfile
import zlib
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import BinaryIO, Literal, cast

from typing_extensions import Buffer

from sandboxd import _native
from sandboxd.faults import Misconfigured, Refused
from sandboxd.images.attributes import set_user_attributes, user_attributes
from sandboxd.images.layout import Layer

_WHITEOUT = ".wh."
_OPAQUE = ".wh..wh..opq"
_MAX_ID = 65535
_MAX_NAME_BYTES = 255
_MAX_PATH_BYTES = 3072
_MAX_DEPTH = 128
_MEMORY_BYTES = 1024**3
"""Headers of a tar are read whole; one may claim to be of any size."""
_LOOK_EVERY_MS = 200
_NOBODY = 65534
_ZSTD_WINDOW = "--memory=128MB"
_CHUNK_BYTES = 1024 * 1024
_TAR_OVERHEAD_BYTES = 4096
_ROOT = Path("/")
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
    set_id_bits: Literal["keep", "strip", "refuse"] = "keep"


def unpack_layers(
    layers: Sequence[Layer],
    tree: Path,
    limits: UnpackLimits,
    progress: Progress = ignore_progress,
) -> None:
    """Unpacks into the empty directory `tree`. Raises: Refused with the reason."""
    budget = _Budget(limits)
    total, before = sum(layer.size_bytes for layer in layers), 0
    for layer in layers:
        with layer.path.open("rb") as blob:
            moved = partial(_show_moved, progress, before, total)
            words = _in_a_child((layer, blob), tree, budget, moved)
        before += layer.size_bytes
        progress("unpack", before, total)
        try:
            budget.spent_bytes, budget.spent_entries = map(int, words.split())
        except ValueError:
            raise Refused(f"the image cannot be unpacked: {words or 'out of bounds'}") from None


def _show_moved(progress: Progress, before: int, total: int, moved: int) -> None:
    progress("unpack", before + moved, total)


def _in_a_child(
    given: tuple[Layer, BinaryIO], tree: Path, budget: "_Budget", moved: Callable[[int], None]
) -> str:
    """Unpacks one layer. Returns what the child said: two numbers, or why it refused."""
    layer, blob = given
    with _plain(layer, blob) as plain:
        hear, say = os.pipe()
        child = os.fork()
        if child == 0:
            os.close(hear)
            _be_the_child(say, tree, (layer, plain), budget)
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


def _be_the_child(words: int, tree: Path, given: tuple[Layer, BinaryIO], budget: "_Budget") -> None:
    status, said = _REFUSED_STATUS, ""
    try:
        _native.die_with_parent(signal.SIGKILL)
        os.umask(0)
        os.chroot(tree)
        os.chdir("/")
        _native.limit_capabilities(_CAPABILITIES)
        resource.setrlimit(resource.RLIMIT_AS, (_MEMORY_BYTES, _MEMORY_BYTES))
        _unpack_layer(*given, budget)
        status, said = 0, f"{budget.spent_bytes} {budget.spent_entries}"
    except (
        *(Refused, OSError, tarfile.TarError, zlib.error),
        *(EOFError, ValueError, MemoryError, RecursionError),
    ) as error:
        said = str(error) or type(error).__name__
    finally:
        os.write(words, said.encode("utf-8", "replace")[:4000])
        os._exit(status)


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


def _unpack_layer(layer: Layer, file: BinaryIO, budget: _Budget) -> None:
    plain = gzip.GzipFile(fileobj=file) if layer.compression == "gzip" else file
    hashed = _Hashed(plain, budget.stream_bytes)
    buffered = io.BufferedReader(hashed, _CHUNK_BYTES)
    seen: set[Path] = set()
    directories: list[tuple[Path, tarfile.TarInfo]] = []
    with tarfile.open(fileobj=buffered, mode="r|") as archive:
        for entry in archive:
            path = _clean(entry.name)
            headers = sum(len(value) for value in entry.pax_headers.values())
            budget.spend((entry.size if entry.isreg() else 0) + headers)
            if path.name.startswith(_WHITEOUT):
                _white_out(path, seen)
                continue
            _make(archive, entry, path, budget.limits)
            seen.add(path)
            if entry.isdir():
                directories.append((path, entry))
    while buffered.read(_CHUNK_BYTES):
        pass  # What follows the archive's end belongs to the digest too.
    if f"sha256:{hashed.sha256.hexdigest()}" != layer.diff_id:
        raise Refused(f"the layer {layer.digest} does not match its diff_id")
    for path, entry in reversed(directories):
        if path.is_dir() and not path.is_symlink():
            _set_times(path, entry)


def _clean(name: str) -> Path:
    """The name as a path below the root. Raises: Refused for anything that tries to leave it."""
    parts = [part for part in name.split("/") if part not in ("", ".")]
    if ".." in parts:
        raise Refused("a name leads upwards")
    sizes = [len(os.fsencode(part)) for part in parts]
    is_too_long = max(sizes, default=0) > _MAX_NAME_BYTES or sum(sizes) > _MAX_PATH_BYTES
    if len(parts) > _MAX_DEPTH or is_too_long:
        raise Refused("a name is too long or too deep")
    return Path("/", *parts)


def _white_out(path: Path, seen: set[Path]) -> None:
    """Removes what lower layers left, never what this layer brought."""
    if path.name != _OPAQUE:
        _remove(path.with_name(path.name.removeprefix(_WHITEOUT)))
    elif path.parent.is_dir():
        for child in list(path.parent.iterdir()):
            if child not in seen:
                _remove(child)


def _remove(path: Path) -> None:
    if path.is_dir() and not path.is_symlink():
        shutil.rmtree(path)
    else:
        path.unlink(missing_ok=True)


def _make(
    archive: tarfile.TarFile, entry: tarfile.TarInfo, path: Path, limits: UnpackLimits
) -> None:
    if entry.uid > _MAX_ID or entry.gid > _MAX_ID:
        raise Refused("an owner lies outside 0 to 65535")
    attributes = user_attributes(entry)
    path.parent.mkdir(exist_ok=True, parents=True)
    if entry.isdir():
        if path.is_symlink() or not path.is_dir():
            _remove(path)
            path.mkdir()
    else:
        if path == _ROOT:
            raise Refused("the root is not a directory")
        _remove(path)
        _make_leaf(archive, entry, path)
    if entry.islnk():
        return
    os.chown(path, entry.uid, entry.gid, follow_symlinks=False)
    if entry.isreg() or entry.isdir():
        set_user_attributes(path, attributes)
    if not entry.issym():
        path.chmod(_mode_of(entry, limits))
    _set_times(path, entry)


def _mode_of(entry: tarfile.TarInfo, limits: UnpackLimits) -> int:
    """Set-id bits of directories (inherited groups) are no matter of privilege and stay."""
    mode = stat.S_IMODE(entry.mode)
    bits = 0 if entry.isdir() else mode & (stat.S_ISUID | stat.S_ISGID)
    if bits and limits.set_id_bits == "refuse":
        raise Refused("a file is set-user-id or set-group-id")
    return mode & ~bits if limits.set_id_bits == "strip" else mode


def _make_leaf(archive: tarfile.TarFile, entry: tarfile.TarInfo, path: Path) -> None:
    if entry.isreg():
        source = archive.extractfile(entry)
        if source is None:
            raise Refused("a file has no content")
        with path.open("xb") as target:
            shutil.copyfileobj(source, target, _CHUNK_BYTES)
    elif entry.issym():
        path.symlink_to(entry.linkname)
    elif entry.islnk():
        original = _clean(entry.linkname)
        if original.is_symlink() or not original.is_file():
            raise Refused("a hard link leads to nothing or to a symbolic link")
        os.link(original, path, follow_symlinks=False)
    elif entry.isfifo():
        os.mkfifo(path)
    else:
        raise Refused("a device node, or an entry of an unknown type")


def _set_times(path: Path, entry: tarfile.TarInfo) -> None:
    os.utime(path, (entry.mtime, entry.mtime), follow_symlinks=False)
