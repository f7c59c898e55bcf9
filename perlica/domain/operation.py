"""Operations: every executed action, written before its effect and again after it."""

from enum import StrEnum
from typing import Final


class OperationState(StrEnum):
    """`queued` may still be abandoned; from `started` on the effect may exist.

    `unknown` waits in the recovery queue and is never repeated; `resolved` was closed by an Owner.
    """

    queued = "queued"
    started = "started"
    succeeded = "succeeded"
    failed = "failed"
    cancelled = "cancelled"
    abandoned = "abandoned"
    unknown = "unknown"
    resolved = "resolved"


OPEN_STATES = frozenset({OperationState.queued, OperationState.started})

READ: Final = "read"
"""A look at our own tables: its row is written with its outcome, so it is never open."""
CHANGE: Final = "change"
"""A change of our own tables: its row begins and ends in one transaction."""
REMOTE: Final = "remote"
"""A call outside that must not be made twice: interrupted, it is unknown."""
REMOTE_READ: Final = "remote_read"
"""A call outside that may be made again: interrupted, it has failed."""
BUILT_IN: Final = frozenset({READ, CHANGE, REMOTE, REMOTE_READ})
"""What `operations.executor` holds where the gateway itself carries an operation out."""
REPEATABLE: Final = frozenset({READ, REMOTE_READ})
"""Of those, what has no effect: interrupted, it has failed and may be asked for again."""
