"""What the answers are made of: small facts that the coordinator reads and hands over.

Names of people, purposes and actions may hold anything; the answers escape and clip them.
"""

from dataclasses import dataclass, field
from enum import StrEnum

from perlica.domain.ids import OperationId, SandboxName, TaskId, TicketId
from perlica.domain.sandbox import SandboxState
from perlica.domain.task import EndReason, TaskState


@dataclass(frozen=True, slots=True, kw_only=True)
class TaskFacts:
    """The task that is alive; `requester` is a protected display name or a QQ number as text.

    `step` counts from 0, as the tables do; members read it from 1.
    """

    task: TaskId
    requester: str = field(repr=False)
    state: TaskState
    step: int
    elapsed_ms: int
    cancelling: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class PendingTicket:
    """A ticket that waits; `action` is the plan's label, `left_ms` the time until it expires."""

    ticket: TicketId
    action: str = field(repr=False)
    left_ms: int


@dataclass(frozen=True, slots=True, kw_only=True)
class SandboxFacts:
    """One sandbox that holds a slot; `left_ms` until it is deleted unless it is used."""

    name: SandboxName
    state: SandboxState
    left_ms: int | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class SwitchFacts:
    """A switch of the image that is not through; `blocked_because` is empty while it goes on."""

    blocked_because: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class ModelTroubleFacts:
    """Why the model's service did not answer when it was last asked, and how long ago that was."""

    reason: EndReason
    age_ms: int


@dataclass(frozen=True, slots=True, kw_only=True)
class CapabilityOff:
    """A capability that is switched off and why, in the group's language already."""

    name: str
    reason: str


@dataclass(frozen=True, slots=True, kw_only=True)
class StatusFacts:
    """What `.status` shows. `connection_fault` is empty while the connection is ready."""

    task: TaskFacts | None
    tickets: tuple[PendingTicket, ...] = ()
    sandboxes: tuple[SandboxFacts, ...] = ()
    most_sandboxes: int
    outbox_waiting: int = 0
    unknown_operations: int = 0
    image_switch: SwitchFacts | None = None
    orphans: int = 0
    connection_fault: str = ""
    model_trouble: ModelTroubleFacts | None = None
    capabilities_off: tuple[CapabilityOff, ...] = ()


class CancelResult(StrEnum):
    """What became of a `.cancel`."""

    cancelling = "cancelling"
    already_cancelling = "already_cancelling"
    nothing_to_cancel = "nothing_to_cancel"
    not_this_task = "not_this_task"
    not_yours = "not_yours"


@dataclass(frozen=True, slots=True, kw_only=True)
class RecoveryItem:
    """An operation in the recovery queue; `age_ms` since it was started."""

    operation: OperationId
    action: str = field(repr=False)
    age_ms: int
