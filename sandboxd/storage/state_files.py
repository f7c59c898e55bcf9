"""The small files of the state directory: read, made when they are new, or named as damaged.

A file that is empty, cut or gone is never taken for a fresh start: an epoch that begins at 0 again
would let a restored service act twice, a new node id would leave containers to nobody. Whoever has
to decide is told the file and what helps.
"""

import os
import re
from pathlib import Path

from sandboxd.faults import Misconfigured
from sandboxd.storage import door

JOURNAL, EPOCH, JOURNAL_KEY, NODE_ID = "journal", "epoch", "journal-key", "node-id"
_NODE_ID_BYTES = 6
_KEY_BYTES = 32
_MAX_EPOCH_DIGITS = 18


def check_state(directory: Path) -> None:
    """Looks whether files are missing that an earlier daemon must have left. Changes nothing.

    Raises: Misconfigured naming the file and what helps.
    """
    journal, epoch, key, node = (
        directory / name for name in (JOURNAL, EPOCH, JOURNAL_KEY, NODE_ID)
    )
    if not journal.exists():
        if epoch.exists() or key.exists():
            raise _gone(
                journal, f"to go on without the answers of earlier operations: touch {journal}"
            )
        return
    if not node.exists():
        raise _gone(node, "its control groups end in it: ls the cgroup_parent, write the name back")
    if journal.stat().st_size == 0:
        return
    if not epoch.exists():
        raise _gone(epoch, "to go on, write the epoch of the service's database into it")
    if not key.exists():
        raise _gone(
            key, f"to go on without the answers of earlier operations: truncate -s 0 {journal}"
        )


def _gone(file: Path, more: str) -> Misconfigured:
    return Misconfigured(
        f"{file} is missing, though this state directory was in use",
        remedy=f"restore it from a backup of the state directory; {more}",
    )


def damaged(file: Path, seen: str, remedy: str, *, line: int | None = None) -> Misconfigured:
    """What to raise for a file that cannot be what the daemon wrote."""
    where = f"{file}, line {line}" if line is not None else str(file)
    return Misconfigured(f"{where}: {seen}", remedy=remedy)


def read_epoch(file: Path) -> int:
    """The highest epoch; 0 when there is no file. Raises: Misconfigured."""
    if not file.exists():
        return 0
    text = _text_of(file)
    if not re.fullmatch(rf"[0-9]{{1,{_MAX_EPOCH_DIGITS}}}", text):
        raise damaged(
            file,
            "this is no epoch: one number was expected",
            "restore the file, or write the epoch of the service's database into it",
            line=1,
        )
    return int(text)


def node_id(directory: Path) -> str:
    """A short random name of this state directory: its control groups belong to nobody else.

    It is made when it is not there. Raises: Misconfigured, Retryable.
    """
    file = directory / NODE_ID
    return _random_hex(file, "node id", _NODE_ID_BYTES)


def journal_key(directory: Path) -> bytes:
    """The key under which request bodies are hashed, made when it is not there.

    Raises: Misconfigured, Retryable.
    """
    return bytes.fromhex(_random_hex(directory / JOURNAL_KEY, "journal key", _KEY_BYTES))


def _random_hex(file: Path, what: door.Write, size_bytes: int) -> str:
    if not file.exists():
        door.replace_durably(what, file, os.urandom(size_bytes).hex())
    text = _text_of(file)
    if not re.fullmatch(rf"[0-9a-f]{{{2 * size_bytes}}}", text):
        raise damaged(
            file,
            f"{2 * size_bytes} hexadecimal digits were expected",
            "restore the file from a backup of the state directory",
            line=1,
        )
    return text


def _text_of(file: Path) -> str:
    """Raises: Misconfigured when it cannot be read at all."""
    try:
        return file.read_bytes().decode("ascii", "replace").strip()
    except OSError as error:
        raise damaged(
            file, error.strerror or "cannot be read", "restore the state directory"
        ) from error
