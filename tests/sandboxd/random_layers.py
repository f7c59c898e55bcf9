"""Stacks of layers as builders write them and as nobody would, each made from a seed.

Few names, so that layers meet: files over directories, links over files, whiteouts of what another
layer brought, hard links to links, things below links. What cannot be unpacked at all, such as a
name below a file, is mostly avoided by a rough model of the tree.
"""

import io
import random
import tarfile
from dataclasses import dataclass, field

NAMES = ("a", "b", "c", ".d", "e é", "n\nl", "long-" + "x" * 150)
DIRECTORIES = ("dir", "other")
"""Always directories: where symbolic links lead to, so that few of them lead in circles."""
TARGETS = ("dir", "/other", "../dir", "dir/a", "nowhere/at/all", "/etc/passwd", "/dir/new")
MODES = (0o644, 0o600, 0o755, 0o4755, 0o2711, 0o1777, 0o000)
DEPTH = 3
KINDS = (
    *((tarfile.REGTYPE,) * 4),
    *((tarfile.DIRTYPE,) * 3),
    *((tarfile.SYMTYPE, tarfile.LNKTYPE) * 2),
    tarfile.FIFOTYPE,
)


@dataclass(slots=True)
class Stack:
    """The plain tars, from the lowest to the highest, and the times that the highest gives to
    directories.
    """

    tars: list[bytes]
    times: dict[str, float] = field(default_factory=dict)


def make_stack(seed: int) -> Stack:
    chance = random.Random(seed)
    kinds: dict[str, bytes] = {}
    layers = [_Layer(chance, kinds, number) for number in range(chance.randint(2, 4))]
    return Stack([layer.tar() for layer in layers], layers[-1].times)


class _Layer:
    def __init__(self, chance: random.Random, kinds: dict[str, bytes], number: int) -> None:
        self._chance = chance
        self._kinds = kinds
        self._number = number
        self.times: dict[str, float] = {}
        self._linkable: set[str] = set()
        self._entries: list[tuple[tarfile.TarInfo, bytes]] = []

    def tar(self) -> bytes:
        if self._number > 0:
            for _ in range(self._chance.randint(0, 3)):
                self._take_away()
        for _ in range(self._chance.randint(4, 20)):
            self._bring()
        kind = self._chance.choice((tarfile.PAX_FORMAT, tarfile.GNU_FORMAT))
        raw = io.BytesIO()
        with tarfile.open(fileobj=raw, mode="w", format=kind) as archive:
            for entry, content in self._entries:
                archive.addfile(entry, io.BytesIO(content))
        return raw.getvalue()

    def _path(self) -> str:
        parts = [self._chance.choice(NAMES) for _ in range(self._chance.randint(1, DEPTH))]
        if self._chance.random() < 0.4:
            parts[0] = self._chance.choice(DIRECTORIES)
        return "/".join(parts)

    def _take_away(self) -> None:
        links = [path for path, kind in self._kinds.items() if kind == tarfile.SYMTYPE]
        known = [p for p in sorted(self._kinds) if not any(p.startswith(f"{x}/") for x in links)]
        path = self._chance.choice(known) if known else self._path()
        directory, _, name = path.rpartition("/")
        is_opaque = bool(directory) and self._chance.random() < 0.4
        marker = ".wh..wh..opq" if is_opaque else f".wh.{name}"
        self._forget(directory if is_opaque else path)
        self._entries.append((tarfile.TarInfo(f"{directory}/{marker}".lstrip("/")), b""))

    def _forget(self, path: str) -> None:
        for known in [k for k in self._kinds if k == path or k.startswith(f"{path}/")]:
            del self._kinds[known]
            self._linkable.discard(known)

    def _bring(self) -> None:
        kind = self._chance.choice(KINDS)
        path = self._path()
        if path in DIRECTORIES and kind != tarfile.DIRTYPE:
            return
        above = ["/".join(path.split("/")[:n]) for n in range(1, path.count("/") + 1)]
        if any(self._kinds.get(a, tarfile.DIRTYPE) not in _PASSABLE for a in above):
            return
        content = b""
        entry = self._entry(path, kind)
        if kind == tarfile.REGTYPE:
            content = self._chance.randbytes(self._chance.choice((0, 1, 700)))
            entry.size = len(content)
        elif kind == tarfile.SYMTYPE:
            entry.linkname = self._chance.choice(TARGETS)
        elif kind == tarfile.LNKTYPE:
            known = sorted(k for k in self._linkable if k != path and not k.startswith(f"{path}/"))
            if not known:
                return
            entry.linkname = self._chance.choice(known)
            entry.pax_headers = {}
        self._note(path, kind, entry.mtime)
        self._entries.append((entry, content))

    def _note(self, path: str, kind: bytes, mtime: float) -> None:
        if kind == tarfile.DIRTYPE:
            self._linkable.discard(path)
            self.times[path] = mtime
        else:
            self._forget(path)
            self._linkable.add(path)
        self._kinds[path] = kind

    def _entry(self, path: str, kind: bytes) -> tarfile.TarInfo:
        entry = tarfile.TarInfo(self._chance.choice(("", "./", "/")) + path)
        entry.type = kind
        # A set group id of a directory would pass to those that no entry describes, by the kernel.
        entry.mode = self._chance.choice(MODES) & (0o5777 if kind == tarfile.DIRTYPE else 0o7777)
        entry.uid, entry.gid = self._chance.choice((0, 1000, 65535)), self._chance.choice((0, 50))
        entry.mtime = self._chance.choice((1, 1_600_000_000, 1_700_000_000.25))
        if kind in {tarfile.REGTYPE, tarfile.DIRTYPE} and self._chance.random() < 0.3:
            value = self._chance.choice(("plain", "zwei\nZeilen", "=é"))
            entry.pax_headers = {"SCHILY.xattr.user.note": value}
        return entry


_PASSABLE = {tarfile.DIRTYPE, tarfile.SYMTYPE}
