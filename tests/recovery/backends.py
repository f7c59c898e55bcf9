"""Backends in memory that lose the way back, or hang, at the one place a test names."""

import threading
from dataclasses import dataclass, field

from perlica.domain.cancel import CancelToken
from perlica.domain.errors import OutcomeUnknown
from perlica.domain.ids import OperationId, SandboxName
from perlica.domain.sandbox import Absence, Action, ActionOutcome, OperationLookUp
from perlica.sandboxes.memory import MemoryBackend


@dataclass(slots=True)
class Forgetful(MemoryBackend):
    """Deletes, loses the answer, and says nothing of it until `remembers` is set."""

    remembers: threading.Event = field(default_factory=threading.Event)
    deletions: int = 0
    _lost: set[OperationId] = field(default_factory=set)

    def delete(self, operation: OperationId, name: SandboxName, instance: str) -> Absence:
        """The effect is there; the answer is not."""
        self.deletions += 1
        MemoryBackend.delete(self, operation, name, instance)
        self._lost.add(operation)
        raise OutcomeUnknown("no_way_back", "the answer was lost")

    def look_up(self, operation: OperationId) -> OperationLookUp:
        """Nothing, for what was lost."""
        if operation in self._lost and not self.remembers.is_set():
            raise OutcomeUnknown("no_way_back", "the node does not answer")
        return MemoryBackend.look_up(self, operation)


@dataclass(slots=True)
class Deaf(MemoryBackend):
    """A command that hears no cancel until `released` is set."""

    released: threading.Event = field(default_factory=threading.Event)

    def execute(
        self,
        operation: OperationId,
        *,
        name: SandboxName,
        instance: str,
        action: Action,
        cancel: CancelToken,
    ) -> ActionOutcome:
        """Hangs."""
        self.released.wait(120)
        return MemoryBackend.execute(
            self,
            operation,
            name=name,
            instance=instance,
            action=action,
            cancel=CancelToken(),
        )


@dataclass(slots=True)
class SlowToDelete(MemoryBackend):
    """A deletion that is under way until `released` is set."""

    begun: threading.Event = field(default_factory=threading.Event)
    released: threading.Event = field(default_factory=threading.Event)

    def delete(self, operation: OperationId, name: SandboxName, instance: str) -> Absence:
        """Takes its time."""
        self.begun.set()
        self.released.wait(120)
        return MemoryBackend.delete(self, operation, name, instance)


@dataclass(slots=True)
class Acknowledged(MemoryBackend):
    """Remembers which outputs it was told to drop."""

    acknowledged: list[OperationId] = field(default_factory=list)

    def acknowledge(self, operation: OperationId) -> None:
        """Take the word of the service."""
        self.acknowledged.append(operation)
