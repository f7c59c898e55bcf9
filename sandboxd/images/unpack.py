"""Unpacks the layers of an image into a directory, in a child that is locked into it.

A layer is hostile input. The child calls chroot before it reads one, keeps only the capabilities
that restoring owners and modes needs, and has every size and count limited, so that path tricks
stay inside the new tree and are refused on top of that.
"""

import gzip
import hashlib
import io
import os
import shutil
import signal
import stat
import tarfile
import zlib
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import BinaryIO

from typing_extensions import Buffer

from sandboxd import _native
from sandboxd.faults import Refused
from sandboxd.images.layout import Layer

_WHITEOUT = ".wh."
_OPAQUE = ".wh..wh..opq"
_MAX_ID = 65535
_MAX_NAME_BYTES = 255
_MAX_DEPTH = 128
_CHUNK_BYTES = 1024 * 1024
_TAR_OVERHEAD_BYTES = 4096
_ROOT = Path("/")
_CAPABILITIES = sum(1 << number for number in (0, 1, 3, 4))
"""CHOWN, DAC_OVERRIDE, FOWNER, FSETID."""
_REFUSED_STATUS = 3


@dataclass(frozen=True, slots=True, kw_only=True)
class UnpackLimits:
    """What one image may unpack to."""

    total_bytes: int = 16 * 1024**3
    entries: int = 1_000_000
    file_bytes: int = 4 * 1024**3


def unpack_layers(layers: Sequence[Layer], tree: Path, limits: UnpackLimits) -> None:
    """Unpacks into the empty directory `tree`. Raises: Refused with the reason."""
    words_out, words_in = os.pipe()
    files = [layer.path.open("rb") for layer in layers]
    try:
        child = os.fork()
        if child == 0:
            os.close(words_out)
            _be_the_child(words_in, tree, list(zip(layers, files, strict=True)), limits)
        os.close(words_in)
        with open(words_out, "rb", closefd=False) as words:
            reason = words.read(4096).decode("utf-8", "replace")
        _, status = os.waitpid(child, 0)
    finally:
        os.close(words_out)
        for file in files:
            file.close()
    if os.waitstatus_to_exitcode(status) != 0:
        raise Refused(f"the image cannot be unpacked: {reason or 'the unpacker was killed'}")


def _be_the_child(
    words: int, tree: Path, layers: list[tuple[Layer, BinaryIO]], limits: UnpackLimits
) -> None:
    status = _REFUSED_STATUS
    try:
        _native.die_with_parent(signal.SIGKILL)
        os.umask(0)
        os.chroot(tree)
        os.chdir("/")
        _native.limit_capabilities(_CAPABILITIES)
        budget = _Budget(limits)
        for layer, file in layers:
            _unpack_layer(layer, file, budget)
        status = 0
    except (Refused, OSError, tarfile.TarError, zlib.error, EOFError, ValueError) as error:
        os.write(words, str(error).encode("utf-8", "replace")[:4000])
    finally:
        os._exit(status)


class _Budget:
    def __init__(self, limits: UnpackLimits) -> None:
        self._limits = limits
        self._bytes = 0
        self._entries = 0
        self.stream_bytes = limits.total_bytes + limits.entries * _TAR_OVERHEAD_BYTES

    def spend(self, size: int) -> None:
        self._bytes += size
        self._entries += 1
        if size > self._limits.file_bytes:
            raise Refused("a file is larger than allowed")
        if self._bytes > self._limits.total_bytes or self._entries > self._limits.entries:
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
            budget.spend(entry.size if entry.isreg() else 0)
            if path.name.startswith(_WHITEOUT):
                _white_out(path, seen)
                continue
            _make(archive, entry, path)
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
    if len(parts) > _MAX_DEPTH or any(len(os.fsencode(part)) > _MAX_NAME_BYTES for part in parts):
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


def _make(archive: tarfile.TarFile, entry: tarfile.TarInfo, path: Path) -> None:
    if entry.uid > _MAX_ID or entry.gid > _MAX_ID:
        raise Refused("an owner lies outside 0 to 65535")
    _refuse_forged_attributes(entry)
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
    if not entry.issym():
        path.chmod(stat.S_IMODE(entry.mode))
    _set_times(path, entry)


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


def _refuse_forged_attributes(entry: tarfile.TarInfo) -> None:
    """Overlay keeps its own state in trusted.overlay.*: an image that brings some is forged."""
    if any(key.startswith("SCHILY.xattr.trusted.") for key in entry.pax_headers):
        raise Refused("a file brings trusted attributes")


def _set_times(path: Path, entry: tarfile.TarInfo) -> None:
    os.utime(path, (entry.mtime, entry.mtime), follow_symlinks=False)
