"""What is remembered of each sandbox beside its disk: one small file, replaced atomically.

STATE/sandboxes/INSTANCE/record.json   who it is, and how far its creation or deletion is
STATE/sandboxes/INSTANCE/disk.xfs      its disk
STATE/sandboxes/INSTANCE/lock          flock of the daemon that uses it
"""

import errno
import os
from pathlib import Path
from typing import Literal

from pydantic import BaseModel, ConfigDict, Field, ValidationError

from sandboxd.storage import door
from sandboxd.storage.state_files import damaged
from sandboxd.wire import Digest, Instance, Limits, Name, Network, Operation

RECORD = "record.json"
DISK = "disk.xfs"
LOCK = "lock"
_RECORD_REMEDY = "restore the file, or move its directory out of the state directory"


class Record(BaseModel):
    """The durable facts of one sandbox: `slot` chooses its host ids, `operation` made it."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    name: Name
    instance: Instance
    image_digest: Digest
    created_at_ms: int
    limits: Limits
    network: Network = "none"
    slot: int = Field(ge=0)
    operation: Operation
    phase: Literal["creating", "present", "deleting"]


class Records:
    """The directory of all sandboxes."""

    def __init__(self, directory: Path) -> None:
        self.directory = directory
        door.make_directory("state directory", directory)

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
        """Writes the record durably, its directory included. Raises: Retryable."""
        home = self.home(record.instance)
        if not home.exists():
            door.make_directory("sandbox directory", home)
            door.sync_directory("sandbox directory", self.directory)
        door.replace_durably("sandbox record", home / RECORD, record.model_dump_json())

    def load_all(self) -> tuple[Record, ...]:
        """All records. A directory with neither record nor disk is a creation that never began.

        A disk without a record is left alone: nothing shows whose it was.
        Raises: Misconfigured when a record cannot be read.
        """
        found: dict[int, Record] = {}
        for home in sorted(self.directory.iterdir()):
            file = home / RECORD
            if not home.is_dir():
                continue
            if not file.exists():
                if not self.disk(home.name).exists():
                    self.remove(home.name)
                continue
            record = _read_record(file)
            other = found.setdefault(record.slot, record)
            if other is not record:
                same = self.home(other.instance) / RECORD
                raise damaged(file, f"the slot is also that of {same}", _RECORD_REMEDY)
        return tuple(found.values())

    def remove(self, instance: str) -> None:
        """Removes the files of a sandbox durably; the record goes last. Raises: Retryable."""
        home = self.home(instance)
        if home.exists():
            door.remove_file("disk image", self.disk(instance))
            door.remove_tree("sandbox files", home)
            door.sync_directory("sandbox files", self.directory)

    def exists(self, instance: str) -> bool:
        """Whether anything of it is on disk."""
        return self.home(instance).exists()


def _read_record(file: Path) -> Record:
    """Raises: Misconfigured naming file and field."""
    try:
        record = Record.model_validate_json(file.read_bytes())
    except OSError as error:
        raise damaged(file, error.strerror or "cannot be read", _RECORD_REMEDY) from error
    except ValidationError as error:
        problem = error.errors(include_url=False, include_input=False)[0]
        where = ".".join(str(part) for part in problem["loc"]) or "the file"
        raise damaged(file, f"{where}: {problem['msg']}", _RECORD_REMEDY, line=1) from error
    if record.instance != file.parent.name:
        raise damaged(file, f"it is the record of {record.instance}", _RECORD_REMEDY)
    return record


def make_private(directory: Path) -> None:
    """Makes what is missing of a directory and of those above it, for our own user alone.

    Raises: Retryable, PermissionError naming the directory (the command line needs root).
    """
    for each in (*reversed(directory.parents), directory):
        if each.exists():
            continue
        if os.geteuid() != 0 and not os.access(each.parent, os.W_OK):
            raise PermissionError(errno.EACCES, os.strerror(errno.EACCES), str(each))
        door.make_directory("state directory", each)
