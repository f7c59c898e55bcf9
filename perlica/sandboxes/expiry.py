"""Seven days without a use: which sandboxes are due, and how long the others have left.

The spec: 连续七天无活跃触碰进入删除. Only real uses move `last_active_at_ms`; the configuration may
shorten the time that a sandbox was made with, never lengthen it.
"""

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Final

from perlica.domain.sandbox import SandboxState
from perlica.sandboxes.lifecycle import Deletion, LifecycleAction
from perlica.stores.sandboxes import SandboxRow

DUE_FOR_S: Final = 3_600.0
"""A sandbox is deleted once it was due for an hour without a break, by the monotonic clock."""
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
    are monotonic seconds; a restart begins anew.
    """

    due_for_s: float = DUE_FOR_S
    _since_s: dict[int, float] = field(default_factory=dict)

    def let_through(self, due: Sequence[Deletion], at_s: float) -> tuple[Deletion, ...]:
        """Of all deletions that are due now those that have been due long enough."""
        self._since_s = {one.row.id: self._since_s.get(one.row.id, at_s) for one in due}
        return tuple(one for one in due if at_s - self._since_s[one.row.id] >= self.due_for_s)


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
