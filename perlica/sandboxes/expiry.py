"""Seven days without a use: which sandboxes are due, and how long the others have left.

The spec: 连续七天无活跃触碰进入删除. Only real uses move `last_active_at_ms`; the configuration may
shorten the time that a sandbox was made with, never lengthen it.
"""

from collections.abc import Sequence
from typing import Final

from perlica.domain.sandbox import SandboxState
from perlica.sandboxes.lifecycle import Deletion, LifecycleAction
from perlica.stores.sandboxes import SandboxRow

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
