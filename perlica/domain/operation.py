"""Operations: every executed action, written before its effect and again after it."""

from enum import StrEnum


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
