"""How full the disks of sandboxes are, as their nodes last said: for Owners and the console.

The look at a node writes it; an observation of a moment, nothing is decided by it.
"""

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Final

from perlica.domain.clock import now_ms
from perlica.domain.ids import RowId
from perlica.domain.sandbox import BackendSandbox
from perlica.stores.database import Database


@dataclass(frozen=True, slots=True, kw_only=True)
class DiskUse:
    """What of its disk a sandbox had used at a moment."""

    used_bytes: int
    seen_at_ms: int


_NOTE: Final = """
INSERT INTO sandbox_disk_use (sandbox_id, used_bytes, seen_at_ms)
SELECT id, :used_bytes, :now_ms FROM sandboxes
WHERE node = :node AND instance = :instance AND slot IS NOT NULL
ON CONFLICT (sandbox_id) DO UPDATE SET
    used_bytes = excluded.used_bytes,
    seen_at_ms = excluded.seen_at_ms
"""
_FIND: Final = "SELECT used_bytes, seen_at_ms FROM sandbox_disk_use WHERE sandbox_id = :sandbox"


class DiskUseStore:
    """Reads and writes `sandbox_disk_use`."""

    def __init__(self, db: Database) -> None:
        """Work on this connection."""
        self._db = db

    def note(self, node: str, seen: Iterable[BackendSandbox]) -> None:
        """Keep what a node says of its sandboxes; one that is not mounted says nothing."""
        for sandbox in seen:
            if sandbox.disk_used_bytes is not None and sandbox.instance:
                bindings = {
                    "node": node,
                    "instance": sandbox.instance,
                    "used_bytes": sandbox.disk_used_bytes,
                    "now_ms": now_ms(),
                }
                self._db.change(_NOTE, bindings)

    def find(self, sandbox: RowId) -> DiskUse | None:
        """What was last seen; None before anything was."""
        row = self._db.query_one(_FIND, {"sandbox": sandbox})
        return None if row is None else DiskUse(**row)
