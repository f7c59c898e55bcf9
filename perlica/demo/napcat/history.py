"""All messages of all groups, in memory and, when a file is given, in a journal of JSON lines.

The kernel appends; a restarted stand-in reads the journal back, so the group keeps its past.
"""

import json
import os
from collections.abc import Iterator
from dataclasses import asdict
from pathlib import Path
from typing import Any

from perlica.demo.napcat.message import Message

FIRST_SEQ = 5001


class History:
    """Messages in order of `real_seq` for each group; recalled ones stay, marked."""

    def __init__(self, journal: Path | None = None) -> None:
        """Read the journal back; a line torn by a kill is cut off."""
        self._by_group: dict[int, list[Message]] = {}
        self._by_kernel_id: dict[str, Message] = {}
        self._recalled: set[str] = set()
        self._journal = journal
        if journal is not None:
            self._replay(journal)

    def append(self, message: Message) -> None:
        """Keep a new message."""
        self._keep(message)
        self._write({"message": asdict(message)})

    def recall(self, message: Message) -> None:
        """Mark a message as taken back."""
        self._recalled.add(message.kernel_id)
        self._write({"recall": message.kernel_id})

    def is_recalled(self, message: Message) -> bool:
        """Whether it was taken back."""
        return message.kernel_id in self._recalled

    def find(self, kernel_id: str) -> Message | None:
        """The message of that kernel id."""
        return self._by_kernel_id.get(kernel_id)

    def of_group(self, group_id: int) -> tuple[Message, ...]:
        """All messages of one group, oldest first."""
        return tuple(self._by_group.get(group_id, ()))

    def next_seq(self, group_id: int) -> int:
        """The sequence number the next message of the group gets."""
        messages = self._by_group.get(group_id)
        return messages[-1].real_seq + 1 if messages else FIRST_SEQ

    def _keep(self, message: Message) -> None:
        self._by_group.setdefault(message.group_id, []).append(message)
        self._by_kernel_id[message.kernel_id] = message

    def _replay(self, journal: Path) -> None:
        if not journal.exists():
            return
        whole_bytes = 0
        for line, size_bytes in _whole_lines(journal):
            whole_bytes += size_bytes
            if "message" in line:
                fields = line["message"]
                self._keep(Message(**{**fields, "segments": tuple(fields["segments"])}))
            else:
                self._recalled.add(line["recall"])
        os.truncate(journal, whole_bytes)

    def _write(self, line: dict[str, object]) -> None:
        if self._journal is None:
            return
        flags = os.O_WRONLY | os.O_CREAT | os.O_APPEND
        with os.fdopen(os.open(self._journal, flags, 0o600), "ab") as file:
            file.write(json.dumps(line, ensure_ascii=True).encode() + b"\n")


def _whole_lines(journal: Path) -> Iterator[tuple[dict[str, Any], int]]:
    """Parsed lines with their size in bytes, up to the first one that is torn."""
    with journal.open("rb") as file:
        for raw in file:
            if not raw.endswith(b"\n"):
                return
            yield json.loads(raw), len(raw)
