"""The sandbox executor: queued work in the serializers, and what recovery asks about it."""

from collections.abc import Callable
from dataclasses import dataclass

from perlica.domain.cancel import CancelToken
from perlica.domain.ids import OperationId
from perlica.domain.ports import SANDBOX_EXECUTOR, JobOutcome, SandboxJob, SandboxRunner
from perlica.gateway.core.work import ToolResult
from perlica.gateway.families.sandbox.results import present
from perlica.sandboxes.recovery import job_to_look_up
from perlica.stores.database import Database


@dataclass(frozen=True, slots=True, kw_only=True)
class SandboxExecutor:
    """An `Executor` over the serializers; see there."""

    database: Database
    runner: SandboxRunner
    longest_work_s: float

    @property
    def name(self) -> str:
        """See Executor."""
        return SANDBOX_EXECUTOR

    def run(self, job: SandboxJob, cancel: CancelToken, *, within_s: float) -> JobOutcome:
        """See Executor."""
        return self.runner.run(job, cancel, within_s=within_s)

    def give_back(self, job: SandboxJob) -> None:
        """See Executor."""
        self.runner.abandon(job)

    def look_up(
        self, operation: OperationId, cancel: CancelToken, *, within_s: float
    ) -> ToolResult | None:
        """See Executor; None when the sandbox's row is gone."""
        job = job_to_look_up(self.database, operation)
        if job is None:
            return None
        return present(job.name, self.runner.settle(job, cancel, within_s=within_s))

    def hand_over(self, operation: OperationId, *, stops: bool) -> bool:
        """See Executor."""
        job = job_to_look_up(self.database, operation)
        if job is None:
            return False
        self.runner.submit(job, stops=stops)
        return True

    def take_back(self, operation: OperationId) -> bool:
        """See Executor."""
        job = job_to_look_up(self.database, operation)
        if job is None:
            return False
        self.runner.abandon(job)
        return True

    def acknowledge(self, operation: OperationId) -> None:
        """See Executor."""
        self.runner.acknowledge(operation)


MakeRunner = Callable[[Database], SandboxRunner]
"""A runner over somebody's own database connection."""
