"""The whole configuration as one value."""

import hashlib
from typing import Self

import rfc8785
from pydantic import PrivateAttr

from perlica.app.config.capabilities import Capability, judge_sandbox
from perlica.app.config.sections import (
    ApprovalSection,
    ConsoleSection,
    ContextSection,
    HealthSection,
    LogSection,
    MembersSection,
    ModelSection,
    NapcatSection,
    OutboxSection,
    PolicySection,
    ProtectionSection,
    RetentionSection,
    SandboxSection,
    Section,
    ServiceSection,
    TaskSection,
)
from perlica.app.gate_report import GateVerdict, judge_report
from perlica.domain.ids import UserId

SHORT_HASH_DIGITS = 12


class Config(Section):
    """Made by `reading` only; holds paths of secrets, never a secret.

    `sandbox` is None while the capability's section is missing or lacks a value; `sandbox_lacks`
    names what is missing (all of it when it is only `sandbox`).
    """

    service: ServiceSection
    napcat: NapcatSection
    members: MembersSection
    model: ModelSection
    task: TaskSection = TaskSection()
    approval: ApprovalSection = ApprovalSection()
    sandbox: SandboxSection | None = None
    outbox: OutboxSection = OutboxSection()
    retention: RetentionSection = RetentionSection()
    context: ContextSection = ContextSection()
    policy: PolicySection = PolicySection()
    protection: ProtectionSection = ProtectionSection()
    console: ConsoleSection = ConsoleSection()
    health: HealthSection = HealthSection()
    log: LogSection = LogSection()
    sandbox_lacks: tuple[str, ...] = ()
    _gate: GateVerdict | None = PrivateAttr(default=None)

    @property
    def owners(self) -> frozenset[UserId]:
        """QQ numbers of the Owners."""
        return frozenset(map(UserId, self.members.owners))

    @property
    def listed(self) -> frozenset[UserId]:
        """QQ numbers of everybody who may ask for a task, Owners included."""
        return self.owners | frozenset(map(UserId, self.members.members))

    @property
    def digest(self) -> str:
        """SHA-256 (hex) over the canonical JSON of all values (paths of secrets, never content)."""
        values = self.model_dump(mode="json", exclude={"sandbox_lacks"})
        return hashlib.sha256(rfc8785.dumps(values)).hexdigest()

    @property
    def short_digest(self) -> str:
        """The beginning of `digest`, for logs and for people."""
        return self.digest[:SHORT_HASH_DIGITS]

    def capabilities(self) -> tuple[Capability, ...]:
        """Every capability that can be switched, on or off, with the reason and the remedy.

        Before the nodes were compared (`with_gate`) the report is judged by itself.
        """
        report = self.sandbox.gate_report if self.sandbox else None
        return (
            judge_sandbox(
                complete=self.sandbox is not None,
                lacks=self.sandbox_lacks,
                demo=self.service.demo,
                gate=self._gate or judge_report(report, {}),
            ),
        )

    def with_gate(self, verdict: GateVerdict) -> Self:
        """The same configuration, after the nodes were compared with the gate's report."""
        compared = self.model_copy()
        compared._gate = verdict  # noqa: SLF001 - our own, of the copy
        return compared
