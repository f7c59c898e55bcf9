"""The whole configuration as one value."""

import hashlib
from collections.abc import Mapping
from typing import Self

import rfc8785
from pydantic import PrivateAttr

from perlica.app.capabilities.gate_report import GateVerdict
from perlica.app.capabilities.judging import judge_all
from perlica.app.capabilities.standing import Capabilities
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
from perlica.domain.ids import UserId

SHORT_HASH_DIGITS = 12


class Config(Section):
    """Made by `reading` only; holds paths of secrets, never a secret.

    The section of a capability (`sandbox`) is None while it is missing or lacks a value; `lacks`
    names by section what it lacks, nothing for one that is missing altogether.
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
    lacks: Mapping[str, tuple[str, ...]] = {}
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
        values = self.model_dump(mode="json", exclude={"lacks"})
        return hashlib.sha256(rfc8785.dumps(values)).hexdigest()

    @property
    def short_digest(self) -> str:
        """The beginning of `digest`, for logs and for people."""
        return self.digest[:SHORT_HASH_DIGITS]

    @property
    def gate(self) -> GateVerdict | None:
        """What the gate's report says of the nodes; None before they were compared with it."""
        return self._gate

    def capabilities(self) -> Capabilities:
        """How each capability stands: whoever asks, asks of one by its name."""
        return judge_all(self)

    def with_gate(self, verdict: GateVerdict) -> Self:
        """The same configuration, after the nodes were compared with the gate's report."""
        compared = self.model_copy()
        compared._gate = verdict  # noqa: SLF001 - our own, of the copy
        return compared
