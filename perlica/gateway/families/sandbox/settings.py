"""What the sandbox family is configured with, and the context that its plans are made from."""

from dataclasses import dataclass

from perlica.domain.sandbox import SandboxLimits
from perlica.gateway.core.tool import CallContext


@dataclass(frozen=True, slots=True, kw_only=True)
class SandboxSettings:
    """Finite limits that the tools keep, whatever the arguments say.

    Times are milliseconds (`idle_ms`) or seconds (`exec_within_s`), sizes are bytes.
    """

    nodes: tuple[str, ...]
    limits: SandboxLimits
    network: str
    idle_ms: int
    exec_within_s: int
    output_limit_bytes: int
    read_limit_bytes: int

    def within(self, context: CallContext) -> "SandboxContext":
        """The context of a call together with these settings."""
        return SandboxContext(
            caller=context.caller,
            database=context.database,
            policy_version=context.policy_version,
            settings=self,
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class SandboxContext(CallContext):
    """What a plan about sandboxes is made from."""

    settings: SandboxSettings
