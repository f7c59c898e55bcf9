"""What a tool is to the gateway: closed arguments, a plan from them and current facts, the work.

Tools belong to a family (`perlica.gateway.core.family`); `perlica.gateway.core.gateway` walks the
path.
"""

from dataclasses import dataclass
from typing import Any, ClassVar, Protocol

from pydantic import BaseModel, ConfigDict

from perlica.domain.ids import GroupId, UserId
from perlica.domain.plan import ActionPlan, JsonValue, Origin
from perlica.gateway.core.caller import Caller
from perlica.gateway.core.work import Work
from perlica.stores.database import Database


class ToolArguments(BaseModel):
    """Base of every tool's arguments: closed, immutable, not coerced, quiet about values."""

    model_config = ConfigDict(frozen=True, extra="forbid", strict=True, hide_input_in_errors=True)


@dataclass(frozen=True, slots=True, kw_only=True)
class CallContext:
    """What a plan is made from: whoever asks, the stores' database, the policy in force."""

    caller: Caller
    database: Database
    policy_version: str

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
class Planned:
    """A plan and the work that carries out exactly it.

    Whether its parameters leave the process, and whether they may quote placeholders, is known
    from the kind of work: see `perlica.gateway.core.work`.
    """

    plan: ActionPlan
    work: Work


class Tool(Protocol):
    """One structured tool. Arguments arrive validated; facts are read when planning."""

    name: ClassVar[str]
    description: ClassVar[str]
    arguments: ClassVar[type[ToolArguments]]

    def plan(self, arguments: Any, context: CallContext) -> Planned:  # noqa: ANN401
        """What exactly would be done now. Raises Refused with a text for the model."""
        ...


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
