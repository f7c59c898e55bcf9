"""Reads /proc/self/mountinfo: the only trustworthy account of what was mounted how.

The overlay mount is verified against it, because the kernel can turn a mount read-only or drop
options without an error; deletion and recovery use it to prove that nothing is left.
"""

from dataclasses import dataclass
from pathlib import Path

_ESCAPES = {"\\040": " ", "\\011": "\t", "\\012": "\n", "\\134": "\\"}


@dataclass(frozen=True, slots=True, kw_only=True)
class MountEntry:
    """One line: options of the mount and of its superblock as sets."""

    mount_id: int
    device: str
    path: str
    options: frozenset[str]
    fstype: str
    source: str
    super_options: frozenset[str]


def read_mounts(process: str = "self") -> tuple[MountEntry, ...]:
    """All mounts that `process` sees, in order of mounting."""
    text = Path(f"/proc/{process}/mountinfo").read_text(encoding="utf-8", errors="surrogateescape")
    return tuple(parse_line(line) for line in text.splitlines())


def mounts_below(path: str) -> tuple[MountEntry, ...]:
    """Mounts at `path` or below it."""
    prefix = path.rstrip("/") + "/"
    return tuple(m for m in read_mounts() if m.path == path or m.path.startswith(prefix))


def parse_line(line: str) -> MountEntry:
    """One line of mountinfo, see proc(5). Optional fields end at a lone dash."""
    fields = line.split(" ")
    dash = fields.index("-", 6)
    return MountEntry(
        mount_id=int(fields[0]),
        device=fields[2],
        path=_unescape(fields[4]),
        options=frozenset(fields[5].split(",")),
        fstype=fields[dash + 1],
        source=_unescape(fields[dash + 2]),
        super_options=frozenset(fields[dash + 3].split(",")),
    )


def _unescape(text: str) -> str:
    for escape, character in _ESCAPES.items():
        text = text.replace(escape, character)
    return text
