"""What a tool is to the gateway: closed arguments, a plan from them and current facts, the work.

Each tool family has one file beside this one; `perlica.gateway.core.gateway` walks the path.
"""

from collections.abc import Callable
from dataclasses import dataclass, field
from datetime import tzinfo
from typing import Any, ClassVar, Protocol

from pydantic import BaseModel, ConfigDict

from perlica.domain.errors import Misconfigured
from perlica.domain.ids import GroupId, OperationId, UserId
from perlica.domain.plan import ActionPlan, JsonValue, Origin
from perlica.domain.ports import JobOutcome, SandboxJob
from perlica.domain.sandbox import SandboxLimits
from perlica.gateway.core.approval_text import CHINA_TIME
from perlica.gateway.core.caller import Caller
from perlica.protection import Protected
from perlica.stores.database import Database


class ToolArguments(BaseModel):
    """Base of every tool's arguments: closed, immutable, not coerced, quiet about values."""

    model_config = ConfigDict(frozen=True, extra="forbid", strict=True, hide_input_in_errors=True)


@dataclass(frozen=True, slots=True, kw_only=True)
class ToolSettings:
    """Finite limits that tools keep, whatever the arguments say; `zone` is that of shown times."""

    nodes: tuple[str, ...]
    sandbox_limits: SandboxLimits
    network: str
    idle_ms: int
    exec_within_s: int
    output_limit_bytes: int
    read_limit_bytes: int
    history_messages: int
    history_code_points: int
    history_days: int
    policy_version: str
    zone: tzinfo = CHINA_TIME


@dataclass(frozen=True, slots=True, kw_only=True)
class CallContext:
    """What a plan is made from: whoever asks, the stores' database, the settings."""

    caller: Caller
    database: Database
    settings: ToolSettings

    @property
    def origin(self) -> Origin:
        """The origin of the plan."""
        return self.caller.origin

    @property
    def group_id(self) -> GroupId:
        """The group."""
        return self.caller.group_id

    @property
    def requester(self) -> UserId:
        """Who asked for the task, or gave the command."""
        return self.caller.requester


@dataclass(frozen=True, slots=True, kw_only=True)
class ToolResult:
    """What a tool gave; `source` names where it came from.

    A `str` is raw: protect it before anything else. What was cut comes protected: see
    `perlica.protection.pieces`.
    """

    text: str | Protected = field(repr=False)
    source: str
    failed: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Instant:
    """Work without an outside effect: a read of our own tables or one row changed."""

    run: Callable[[], ToolResult]


@dataclass(frozen=True, slots=True, kw_only=True)
class InSandbox:
    """Work for a sandbox's serializer.

    `prepare` runs in the transaction that writes the operation's row and returns the job;
    `present` turns the raw outcome into a result.
    """

    prepare: Callable[[OperationId], SandboxJob]
    present: Callable[[JobOutcome], ToolResult]
    within_s: float


@dataclass(frozen=True, slots=True, kw_only=True)
class Planned:
    """A plan and the work that carries out exactly it.

    `goes_outside`: its parameters leave the process for somewhere that is no sandbox, so it is
    refused when protection would change one of them, whatever its level (DESIGN §6).
    `only_reads_here`: it looks at our own protected tables and changes nothing, so its parameters
    may quote placeholders; everywhere else one is refused.
    """

    plan: ActionPlan
    work: Instant | InSandbox
    goes_outside: bool = False
    only_reads_here: bool = False


class Tool(Protocol):
    """One structured tool. Arguments arrive validated; facts are read when planning."""

    name: ClassVar[str]
    description: ClassVar[str]
    arguments: ClassVar[type[ToolArguments]]

    def plan(self, arguments: Any, context: CallContext) -> Planned:  # noqa: ANN401
        """What exactly would be done now. Raises Refused with a text for the model."""
        ...


class Registry:
    """The tools of this service, by name; fixed after the start."""

    def __init__(self, tools: tuple[Tool, ...]) -> None:
        """Raises Misconfigured when two tools share a name."""
        self._tools = {tool.name: tool for tool in tools}
        if len(self._tools) != len(tools):
            raise Misconfigured("tool_twice", "two tools share a name")

    def find(self, name: str) -> Tool | None:
        """The tool of that name."""
        return self._tools.get(name)

    def all(self) -> tuple[Tool, ...]:
        """All tools in the order of registration."""
        return tuple(self._tools.values())


def schema_of(tool: Tool) -> dict[str, JsonValue]:
    """The JSON schema of a tool's arguments, without titles."""
    schema = tool.arguments.model_json_schema()
    return _without_titles(schema)  # type: ignore[return-value]


def _without_titles(node: JsonValue) -> JsonValue:
    if isinstance(node, dict):
        return {
            key: _without_titles(value)
            for key, value in node.items()
            if not (key == "title" and isinstance(value, str))
        }
    if isinstance(node, list):
        return [_without_titles(item) for item in node]
    return node
