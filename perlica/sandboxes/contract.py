"""The contract of a sandbox backend.

`perlica.clients.sandboxd` keeps it over the node daemon, `perlica.sandboxes.memory` in memory; one
suite in tests/contract holds both to it. The serializer's workers call it, nobody else.
"""

from collections.abc import Callable
from typing import Protocol, runtime_checkable

from perlica.domain.cancel import CancelToken
from perlica.domain.ids import OperationId, SandboxName
from perlica.domain.sandbox import (
    Absence,
    Action,
    ActionOutcome,
    BackendSandbox,
    Command,
    CommandOutcome,
    NodeSurvey,
    OperationLookUp,
    SandboxSpec,
)


class SandboxBackend(Protocol):
    """Every mutating call carries an operation id and is idempotent by it.

    Raises, for every call: `Refused` (never in this form), `Retryable` (nothing happened),
    `OutcomeUnknown` (look the operation up, never repeat), `Misconfigured` (the node cannot).
    """

    def current_image(self) -> tuple[str, ...]:
        """The manifest digests that sandboxes can be made of on this node."""
        ...

    def create(
        self, operation: OperationId, spec: SandboxSpec, image_digest: str
    ) -> BackendSandbox:
        """Make a sandbox; it is durable when this returns."""
        ...

    def inspect(self, name: SandboxName) -> BackendSandbox | None:
        """The sandbox of that name, None when the backend has none. Refreshes nothing."""
        ...

    def execute(
        self,
        operation: OperationId,
        *,
        name: SandboxName,
        instance: str,
        action: Action,
        cancel: CancelToken,
    ) -> ActionOutcome:
        """Do the action in exactly that instance; blocks until it ended or `cancel` stopped it."""
        ...

    def stop(self, operation: OperationId, name: SandboxName, instance: str) -> BackendSandbox:
        """End what runs and release the node's resources; the files stay."""
        ...

    def delete(self, operation: OperationId, name: SandboxName, instance: str) -> Absence:
        """Remove it and prove that every part is gone."""
        ...

    def cancel(self, operation: OperationId) -> None:
        """Ask a running operation to stop, whoever started it; how it ends is looked up."""
        ...

    def look_up(self, operation: OperationId) -> OperationLookUp:
        """What became of an operation."""
        ...

    def acknowledge(self, operation: OperationId) -> None:
        """The outcome is stored here; the backend may forget the output."""
        ...

    def reconcile(self) -> tuple[BackendSandbox, ...]:
        """Everything that exists, for comparison with the store."""
        ...

    def survey(self) -> NodeSurvey:
        """One look at the node: who answers, its images, everything that exists. Refreshes nothing.

        Raises: Misconfigured when another node answers than the one that was meant.
        """
        ...


@runtime_checkable
class StreamingBackend(Protocol):
    """A backend that also hands on a command's output while it runs."""

    def stream_command(
        self,
        operation: OperationId,
        *,
        name: SandboxName,
        instance: str,
        action: Command,
        cancel: CancelToken,
        on_output: Callable[[str, bytes, int], None],
    ) -> CommandOutcome:
        """As `SandboxBackend.execute`, with the output handed on as it comes.

        `on_output` gets "stdout" or "stderr", raw bytes, and how many bytes of that stream are
        missing in front of them.
        """
        ...
