"""Files of a sandbox through the helper program that runs inside it (see inside/files.c).

Paths are resolved by the sandbox; the node never opens one.
"""

import errno
import os
from dataclasses import dataclass

from sandboxd.faults import Fault, NotFound, OutcomeUnknown, Refused, Retryable
from sandboxd.runtime.profile import FILES_PATH
from sandboxd.wire import FileContent, FileEntry, FileListing, FileType, encode_bytes

HEADER_BYTES = 128
ENTRY_BYTES = 512
_DANGLING = "dangling"
_TYPES: dict[str, FileType] = {
    "f": "file",
    "d": "directory",
    "l": "symlink",
    "p": "fifo",
    "s": "socket",
    "v": "device",
}
_REFUSALS = {
    errno.EISDIR: "it is a directory",
    errno.ENOTDIR: "a part of the path is not a directory",
    errno.EINVAL: "it is not a regular file",
    errno.EACCES: "permission denied inside the sandbox",
    errno.EPERM: "not permitted inside the sandbox",
    errno.ELOOP: "too many symbolic links",
    errno.ENAMETOOLONG: "the path is too long",
    errno.EROFS: "the place is read-only",
    errno.ENOSPC: "the sandbox's disk is full",
    errno.EBUSY: "the place is in use",
    errno.EXDEV: "the place is on another file system",
    errno.ETXTBSY: "the program is running",
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Answer:
    """What the helper program said."""

    status: int
    stdout: bytes
    stderr: bytes


def read_arguments(path: str, offset: int, limit_bytes: int) -> tuple[str, ...]:
    """Argv for reading a piece of a file."""
    return (FILES_PATH, "read", path, str(offset), str(limit_bytes))


def write_arguments(path: str, *, mode: int | None, create_parents: bool) -> tuple[str, ...]:
    """Argv for replacing a file with what comes on stdin; without a mode the file keeps its own."""
    bits = "-" if mode is None else str(mode)
    return (FILES_PATH, "write", path, bits, "1" if create_parents else "0")


def list_arguments(path: str, limit_entries: int) -> tuple[str, ...]:
    """Argv for listing a directory; one entry more tells that there are more."""
    return (FILES_PATH, "list", path, str(limit_entries + 1))


def content_of(answer: Answer, offset: int) -> FileContent:
    """The answer to reading. Raises: NotFound, Refused."""
    _raise_failure(answer)
    header, _, content = answer.stdout.partition(b"\n")
    size, mode, modified_at_ms = (int(word) for word in header.split())
    return FileContent(
        size_bytes=size,
        mode=mode,
        modified_at_ms=modified_at_ms,
        offset=offset,
        content_base64=encode_bytes(content),
    )


def written_of(answer: Answer) -> tuple[int, bool]:
    """The answer to writing: size in bytes, and whether a file was replaced."""
    _raise_failure(answer)
    size, replaced = (int(word) for word in answer.stdout.split())
    return size, bool(replaced)


def listing_of(answer: Answer, limit_entries: int) -> FileListing:
    """The answer to listing. Raises: NotFound, Refused."""
    _raise_failure(answer)
    lines = answer.stdout.split(b"\0")[:-1]
    entries = sorted((_entry_of(line) for line in lines[:limit_entries]), key=lambda e: e.name)
    return FileListing(entries=tuple(entries), complete=len(lines) <= limit_entries)


def _entry_of(line: bytes) -> FileEntry:
    letter, mode, size, uid, gid, modified_at_ms, name = line.split(b" ", 6)
    return FileEntry(
        name=name.decode("utf-8", "replace"),
        type=_TYPES.get(letter.decode("ascii"), "other"),
        size_bytes=int(size),
        mode=int(mode),
        uid=int(uid),
        gid=int(gid),
        modified_at_ms=int(modified_at_ms),
    )


def _raise_failure(answer: Answer) -> None:
    if answer.status != 0:
        raise _failure(answer)


def _failure(answer: Answer) -> Fault:
    """The helper's last line is `STEP ERRNO`. Anything else means that it did not end by itself."""
    words = answer.stderr.decode("ascii", "replace").strip().rpartition(" ")
    if not words[2].isdigit():
        return OutcomeUnknown("the file program of the sandbox was ended from outside")
    number = int(words[2])
    if words[0] == _DANGLING and number in {errno.ENOENT, errno.ENOTDIR}:
        return Refused(
            "the sandbox refused: it is a symbolic link into a directory that does not exist",
            remedy="make that directory, or replace the link",
        )
    if number == errno.ENOENT:
        return NotFound("there is no such file or directory in the sandbox")
    if number in _REFUSALS:
        return Refused(f"the sandbox refused: {_REFUSALS[number]}")
    return Retryable(f"the sandbox failed at {words[0]}: {os.strerror(number)}")
