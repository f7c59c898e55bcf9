"""The highest epoch of the service's database that the daemon has seen, on disk.

A service that was restored from a backup, or a second one, has an older epoch and is refused:
it would act on what it believes about sandboxes that have changed since.
"""

import threading
from pathlib import Path

from sandboxd.faults import Refused
from sandboxd.storage.records import write_durably


class Epoch:
    """Thread-safe."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._lock = threading.Lock()
        self._highest = int(path.read_text(encoding="ascii")) if path.exists() else 0

    @property
    def highest(self) -> int:
        """The highest epoch seen; 0 before the first."""
        return self._highest

    def admit(self, epoch: int) -> None:
        """Remembers a newer epoch before anything is done for it.

        Raises: Refused when it is older than the highest.
        """
        with self._lock:
            if epoch < self._highest:
                raise Refused(
                    f"epoch {epoch} is older than {self._highest}",
                    remedy="another service, or a restored database, speaks to this node",
                )
            if epoch > self._highest:
                write_durably(self._path, str(epoch))
                self._highest = epoch
