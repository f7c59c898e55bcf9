"""The action plan: what exactly would be done, and the hash that an approval is bound to.

Made by the gateway from a tool call's normalised arguments and current facts; pure.
"""

import hashlib
from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum

import rfc8785

from perlica.domain.errors import Refused
from perlica.domain.ids import PlanHash

JsonValue = str | int | float | bool | None | list["JsonValue"] | dict[str, "JsonValue"]


class Level(StrEnum):
    """What the policy says of an action."""

    low = "low"
    medium = "medium"
    high = "high"
    block = "block"


@dataclass(frozen=True, slots=True, kw_only=True)
class Origin:
    """Who asked: a task (with the call) or an Owner's command message."""

    kind: str  # "task" | "command"
    id: str


@dataclass(frozen=True, slots=True, kw_only=True)
class ActionPlan:
    """One normalised action.

    `target` is a stable identity (a uid, digest, revision), never only a name; `effect` are the
    parameters that change what happens; `display` is wording for people and is not hashed.
    """

    action: str
    origin: Origin
    identity: str
    target: Mapping[str, JsonValue]
    scope: str
    effect: Mapping[str, JsonValue] = field(repr=False)
    destination: str
    expected: str
    policy_version: str
    display: Mapping[str, JsonValue] = field(default_factory=dict, repr=False)

    def effect_fields(self) -> dict[str, JsonValue]:
        """The fields that the hash covers: everything but the wording."""
        return {
            "action": self.action,
            "origin": {"kind": self.origin.kind, "id": self.origin.id},
            "identity": self.identity,
            "target": dict(self.target),
            "scope": self.scope,
            "effect": dict(self.effect),
            "destination": self.destination,
            "expected": self.expected,
            "policy_version": self.policy_version,
        }


def canonical_json(value: JsonValue) -> bytes:
    """RFC 8785 bytes of a JSON value.

    Raises: Refused for a value that has none: a whole number beyond 2^53, a lone surrogate.
    """
    try:
        return rfc8785.dumps(value)
    except rfc8785.CanonicalizationError as error:
        raise Refused(
            "not_canonical", "a parameter has no canonical form: a number too large, or bad text"
        ) from error


def hash_plan(plan: ActionPlan) -> PlanHash:
    """SHA-256 (hex) over the canonical JSON of the plan's effect fields.

    Raises: Refused as `canonical_json`.
    """
    return PlanHash(hashlib.sha256(canonical_json(plan.effect_fields())).hexdigest())
