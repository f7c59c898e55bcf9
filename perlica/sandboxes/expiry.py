"""Seven days without a use: which sandboxes are due, and how long the others have left.

A sandbox that nobody used for seven days is deleted. Only real uses move `last_active_at_ms`; the
configuration may shorten the time that a sandbox was made with, never lengthen it.
"""

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Final

from perlica.domain.sandbox import SandboxState
from perlica.sandboxes.lifecycle import Deletion, LifecycleAction
from perlica.stores.database import Database
from perlica.stores.sandboxes import SandboxRow
from perlica.stores.service import ServiceStore

DUE_FOR_S: Final = 3_600.0
"""A sandbox is deleted once it was due for an hour without a break, by the monotonic clock."""
_DUE_KEY: Final = "sandboxes_due_s"
_KEEP_EVERY_S: Final = 60.0
_EXPIRING: Final = frozenset({SandboxState.ready, SandboxState.stopped})


def left_ms(row: SandboxRow, idle_ms: int, now_ms: int) -> int:
    """Milliseconds until the sandbox is deleted unless it is used; 0 when it is due."""
    return max(0, row.last_active_at_ms + min(row.idle_ms, idle_ms) - now_ms)


def find_expired(rows: Sequence[SandboxRow], idle_ms: int, now_ms: int) -> tuple[Deletion, ...]:
    """The deletions that are due. Each holds only if there was no use when its turn comes."""
    return tuple(
        _expiry_of(row, min(row.idle_ms, idle_ms))
        for row in rows
        if row.state in _EXPIRING and left_ms(row, idle_ms, now_ms) == 0
    )


@dataclass(slots=True)
class Settling:
    """Lets a deletion through only after it was due at every look for `due_for_s` seconds.

    A single look can be wrong: a wall clock that jumped ahead, by a bad battery or before its first
    synchronisation, makes every sandbox due at once, and a deleted one does not come back. Times
    are monotonic seconds. `due_s` is what was counted of each row: kept over a restart, so that a
    service that restarts often expires its sandboxes too; time without a look does not count.
    """

    due_for_s: float = DUE_FOR_S
    due_s: dict[int, float] = field(default_factory=dict)
    _looked_s: float | None = None

    def let_through(self, due: Sequence[Deletion], at_s: float) -> tuple[Deletion, ...]:
        """Of all deletions that are due now those that have been due long enough."""
        passed_s = 0.0 if self._looked_s is None else at_s - self._looked_s
        self._looked_s = at_s
        self.due_s = {
            one.row.id: self.due_s[one.row.id] + passed_s if one.row.id in self.due_s else 0.0
            for one in due
        }
        return tuple(one for one in due if self.due_s[one.row.id] >= self.due_for_s)


class SettlingStore:
    """What was counted, in the database: written once a minute, and when a row comes or goes."""

    def __init__(self, database: Database) -> None:
        """Work on this connection."""
        self._database = database
        self._kept: dict[int, float] = {}

    def read(self) -> dict[int, float]:
        """What an earlier process counted."""
        text = ServiceStore(self._database).find(_DUE_KEY) or "{}"
        self._kept = {int(row): float(due_s) for row, due_s in json.loads(text).items()}
        return dict(self._kept)

    def keep(self, due_s: Mapping[int, float]) -> None:
        """Write what is worth writing, in a transaction of its own."""
        is_same = due_s.keys() == self._kept.keys()
        if is_same and all(due_s[row] - kept < _KEEP_EVERY_S for row, kept in self._kept.items()):
            return
        with self._database.transaction():
            ServiceStore(self._database).set(_DUE_KEY, json.dumps(dict(due_s)))
        self._kept = dict(due_s)


def _expiry_of(row: SandboxRow, idle_ms: int) -> Deletion:
    return Deletion(
        row=row,
        action=LifecycleAction.expire,
        reason={
            "why": "idle",
            "idle_ms": idle_ms,
            "last_active_at_ms": row.last_active_at_ms,
        },
        untouched_since_ms=row.last_active_at_ms,
    )
