"""Puts one layer onto the tree that the layers below it made: the root of this very process.

Used by the child that `unpack.py` locks into the tree. The rules are those of the OCI image
specification (layer.md): whiteouts concern lower layers only, wherever they stand in their own
layer, so they are applied in a pass of their own, before the first entry.
"""

import os
import shutil
import stat
import tarfile
from collections.abc import Iterable
from decimal import Decimal
from pathlib import Path
from typing import Literal

from sandboxd.faults import Refused
from sandboxd.images.attributes import set_user_attributes, user_attributes

SetIdBits = Literal["keep", "strip", "refuse"]

_WHITEOUT = ".wh."
_RESERVED = ".wh..wh."
"""What the storage driver AUFS left in layers (plnk, aufs, orph), and the opaque marker."""
_OPAQUE = ".wh..wh..opq"
_MAX_ID = 65535
_MAX_NAME_BYTES = 255
_MAX_PATH_BYTES = 3072
_MAX_DEPTH = 128
_CHUNK_BYTES = 1024 * 1024
_ROOT = Path("/")
_DEVICES = Path("/dev")
_IMPLIED_MODE = 0o755
_NANOSECONDS = 10**9


def clean_name(name: str) -> Path:
    """The name as a path below the root. Raises: Refused for anything that tries to leave it."""
    parts = [part for part in name.split("/") if part not in ("", ".")]
    if ".." in parts:
        raise Refused("a name leads upwards")
    sizes = [len(os.fsencode(part)) for part in parts]
    is_too_long = max(sizes, default=0) > _MAX_NAME_BYTES or sum(sizes) > _MAX_PATH_BYTES
    if len(parts) > _MAX_DEPTH or is_too_long:
        raise Refused("a name is too long or too deep")
    return Path("/", *parts)


def is_whiteout(path: Path) -> bool:
    """Whether an entry takes something away instead of bringing it, or is a driver's own note."""
    return path.name.startswith(_WHITEOUT) or any(p.startswith(_RESERVED) for p in path.parts)


def apply_whiteouts(entries: Iterable[tuple[Path, tarfile.TarInfo]]) -> None:
    """Removes what the layer's whiteouts name; nothing of the layer itself may be there yet.

    Raises: Refused for a whiteout of no name.
    """
    whiteouts: list[Path] = []
    directories: set[str] = set()
    for path, entry in entries:
        if is_whiteout(path):
            whiteouts.append(path)
        elif entry.isdir():
            directories.add(str(path))
    for path in whiteouts:
        if not _is_behind_a_replaced_link(path, directories):
            _white_out(path)


def _is_behind_a_replaced_link(path: Path, directories: set[str]) -> bool:
    """Where the layer puts a directory in a link's place, its whiteouts mean that directory."""
    return any(str(parent) in directories and parent.is_symlink() for parent in path.parents)


def _white_out(path: Path) -> None:
    if path.name == _OPAQUE:
        if path.parent.is_dir():
            for child in list(path.parent.iterdir()):
                _remove(child)
    elif not any(part.startswith(_RESERVED) for part in path.parts):
        name = path.name.removeprefix(_WHITEOUT)
        if name in ("", ".", ".."):
            raise Refused("a whiteout names nothing")
        _remove(path.parent / name)


def _remove(path: Path) -> None:
    if path.is_dir() and not path.is_symlink():
        shutil.rmtree(path)
    else:
        try:
            path.unlink(missing_ok=True)
        except NotADirectoryError:
            return  # Below a file there is nothing.


class Tree:
    """The tree while one layer is put onto it."""

    def __init__(self, set_id_bits: SetIdBits) -> None:
        self._set_id_bits = set_id_bits
        self._directories: dict[Path, tarfile.TarInfo] = {}

    def put(self, archive: tarfile.TarFile, entry: tarfile.TarInfo, path: Path) -> None:
        """Makes one entry; what stood in its place goes. Raises: Refused with the reason."""
        if not (0 <= entry.uid <= _MAX_ID and 0 <= entry.gid <= _MAX_ID):
            raise Refused("an owner lies outside 0 to 65535")
        attributes = user_attributes(entry)
        if entry.isdev() and not entry.isfifo():
            _check_device(path)
            return
        _make_directories(path.parent)
        path = _behind_links(path)
        if entry.isdir():
            if path.is_symlink() or not path.is_dir():
                _remove(path)
                path.mkdir()
            self._directories[path] = entry
        elif path == _ROOT:
            raise Refused("the root is not a directory")
        elif entry.islnk():
            _link(_behind_links(clean_name(entry.linkname)), path)
            return
        else:
            _remove(path)
            _make_leaf(archive, entry, path)
        os.chown(path, entry.uid, entry.gid, follow_symlinks=False)
        if entry.isreg() or entry.isdir():
            set_user_attributes(path, attributes)
        if not entry.issym():
            path.chmod(self._mode_of(entry))
        _set_times(path, entry)

    def _mode_of(self, entry: tarfile.TarInfo) -> int:
        """Set-id bits of directories (inherited groups) are no matter of privilege and stay."""
        mode = stat.S_IMODE(entry.mode)
        bits = 0 if entry.isdir() else mode & (stat.S_ISUID | stat.S_ISGID)
        if bits and self._set_id_bits == "refuse":
            raise Refused("a file is set-user-id or set-group-id")
        return mode & ~bits if self._set_id_bits == "strip" else mode

    def finish(self) -> None:
        """Gives directories the times that what was put into them has changed."""
        for path, entry in self._directories.items():
            if path.is_dir() and not path.is_symlink():
                _set_times(path, entry)


def _check_device(path: Path) -> None:
    """Nodes in /dev are left out: each sandbox has a /dev of its own. Raises: Refused elsewhere."""
    if path.parent != _DEVICES and _DEVICES not in path.parents:
        raise Refused("a device node outside /dev")


def _make_directories(directory: Path) -> None:
    """Directories that no entry describes, also where a link leads that leads to nothing yet.

    The kernel resolves links below this process's root, so none leads out of the tree.
    """
    if directory.is_dir():
        return
    if directory.is_symlink():
        target = Path(os.path.realpath(directory))
        if target.is_symlink():
            raise Refused("a symbolic link leads in circles")
        _make_directories(target)
        return
    if os.path.lexists(directory):
        raise Refused("something lies below a name that is not a directory")
    _make_directories(directory.parent)
    directory.mkdir()
    os.chown(directory, 0, 0)
    directory.chmod(_IMPLIED_MODE)


def _behind_links(path: Path) -> Path:
    """The same place without links on the way: one of them may be what is about to be replaced."""
    return path if path == _ROOT else Path(os.path.realpath(path.parent)) / path.name


def _link(original: Path, path: Path) -> None:
    """A hard link is a second name of whatever is there: a file, a FIFO, also a symbolic link."""
    try:
        found = original.lstat()
    except OSError:
        raise Refused("a hard link leads to nothing") from None
    if stat.S_ISDIR(found.st_mode):
        raise Refused("a hard link leads to a directory")
    if os.path.lexists(path) and os.path.samestat(found, path.lstat()):
        return
    _remove(path)
    os.link(original, path, follow_symlinks=False)


def _make_leaf(archive: tarfile.TarFile, entry: tarfile.TarInfo, path: Path) -> None:
    if entry.isreg():
        source = archive.extractfile(entry)
        if source is None:
            raise Refused("a file has no content")
        with path.open("xb") as target:
            shutil.copyfileobj(source, target, _CHUNK_BYTES)
    elif entry.issym():
        path.symlink_to(entry.linkname)
    elif entry.isfifo():
        os.mkfifo(path)
    else:
        raise Refused("an entry of an unknown type")


def _set_times(path: Path, entry: tarfile.TarInfo) -> None:
    """To the nanosecond where a header has it: a float would round."""
    at_ns = int(Decimal(entry.pax_headers.get("mtime", entry.mtime)) * _NANOSECONDS)
    os.utime(path, ns=(at_ns, at_ns), follow_symlinks=False)
