"""The highest epoch of the service's database that the daemon has seen, on disk.

A service that was restored from a backup, or a second one, has an older epoch and is refused:
it would act on what it believes about sandboxes that have changed since.
"""

import threading
from pathlib import Path

from sandboxd.faults import Refused
from sandboxd.storage import door
from sandboxd.storage.state_files import read_epoch


class Epoch:
    """Thread-safe. Raises: Misconfigured when the file is damaged."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._lock = threading.Lock()
        self._highest = read_epoch(path)

    @property
    def highest(self) -> int:
        """The highest epoch seen; 0 before the first."""
        return self._highest

    def admit(self, epoch: int) -> None:
        """Remembers a newer epoch before anything is done for it.

        Raises: Refused when it is older than the highest, Retryable when the disk does not take it.
        """
        with self._lock:
            if epoch < self._highest:
                raise Refused(
                    f"epoch {epoch} is older than {self._highest}",
                    remedy="another service, or a restored database, speaks to this node",
                )
            if epoch > self._highest or not self._path.exists():
                door.replace_durably("epoch", self._path, str(epoch))
                self._highest = epoch
