"""What is remembered of each sandbox beside its disk: one small file, replaced atomically.

STATE/sandboxes/INSTANCE/record.json   who it is, and how far its creation or deletion is
STATE/sandboxes/INSTANCE/disk.xfs      its disk
STATE/sandboxes/INSTANCE/lock          flock of the daemon that uses it
"""

import os
import shutil
from pathlib import Path
from typing import Literal

from pydantic import BaseModel, ConfigDict, ValidationError

from sandboxd.faults import Misconfigured
from sandboxd.storage.disk import fsync_directory
from sandboxd.wire import Digest, Instance, Limits, Name, Network, Operation

RECORD = "record.json"
DISK = "disk.xfs"
LOCK = "lock"


class Record(BaseModel):
    """The durable facts of one sandbox: `slot` chooses its host ids, `operation` made it."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    name: Name
    instance: Instance
    image_digest: Digest
    created_at_ms: int
    limits: Limits
    network: Network = "none"
    slot: int
    operation: Operation
    phase: Literal["creating", "present", "deleting"]


class Records:
    """The directory of all sandboxes."""

    def __init__(self, directory: Path) -> None:
        self.directory = directory
        directory.mkdir(mode=0o700, parents=True, exist_ok=True)

    def home(self, instance: str) -> Path:
        """The directory of one sandbox."""
        return self.directory / instance

    def disk(self, instance: str) -> Path:
        """Its disk image."""
        return self.home(instance) / DISK

    def lock(self, instance: str) -> Path:
        """Its lock file."""
        return self.home(instance) / LOCK

    def save(self, record: Record) -> None:
        """Writes the record durably, its directory included."""
        home = self.home(record.instance)
        if not home.exists():
            home.mkdir(mode=0o700)
            fsync_directory(self.directory)
        write_durably(home / RECORD, record.model_dump_json())

    def load_all(self) -> tuple[Record, ...]:
        """All records. A directory with neither record nor disk is a creation that never began.

        A disk without a record is left alone: nothing shows whose it was.
        Raises: Misconfigured when a record cannot be read.
        """
        found = []
        for home in sorted(self.directory.iterdir()):
            file = home / RECORD
            if not file.exists():
                if not self.disk(home.name).exists():
                    self.remove(home.name)
                continue
            try:
                found.append(Record.model_validate_json(file.read_bytes()))
            except ValidationError as error:
                raise Misconfigured(
                    f"the record of instance {home.name} cannot be read",
                    remedy="restore the file or move the directory away",
                ) from error
        return tuple(found)

    def remove(self, instance: str) -> None:
        """Removes the files of a sandbox durably; the record goes last."""
        home = self.home(instance)
        if home.exists():
            self.disk(instance).unlink(missing_ok=True)
            shutil.rmtree(home)
            fsync_directory(self.directory)

    def exists(self, instance: str) -> bool:
        """Whether anything of it is on disk."""
        return self.home(instance).exists()


def make_private(directory: Path) -> None:
    """Makes what is missing of a directory and of those above it, for our own user alone."""
    for each in (*reversed(directory.parents), directory):
        if not each.exists():
            each.mkdir(mode=0o700, exist_ok=True)


def write_durably(path: Path, text: str) -> None:
    """Replaces a small file: temporary, fsync, rename, fsync of the directory."""
    fresh = path.with_name(path.name + ".new")
    descriptor = os.open(fresh, os.O_WRONLY | os.O_CREAT | os.O_TRUNC | os.O_CLOEXEC, 0o600)
    with os.fdopen(descriptor, "w", encoding="utf-8") as file:
        file.write(text)
        file.flush()
        os.fsync(descriptor)
    fresh.replace(path)
    fsync_directory(path.parent)
