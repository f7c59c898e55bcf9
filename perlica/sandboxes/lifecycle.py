"""Deletions that a configured policy makes, not a person: each an operation like any other.

The spec has expiry, the clean-up after a lost node and the deletions of an approved image switch as
policies that Owners set beforehand; so they wait for no ticket of their own. They have action names
that no tool and no command can plan, the identity `lifecycle`, a level that the policy file must
give them (without it nothing is deleted), and an audit row with reason and policy version.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum
from typing import Final

from perlica.domain.ids import SandboxName, new_operation_id
from perlica.domain.plan import ActionPlan, JsonValue, Level, Origin, hash_plan
from perlica.domain.policy import Policy
from perlica.domain.ports import SANDBOX_EXECUTOR, Delete, JobKind, SandboxJob
from perlica.protection import Channel, Protected, protect
from perlica.sandboxes.transitions import LIFECYCLE_IDENTITY
from perlica.stores.audit import AuditStore
from perlica.stores.database import Database
from perlica.stores.operations import NewOperation, OperationStore
from perlica.stores.orphans import OrphanStore
from perlica.stores.sandboxes import SandboxRow, SandboxStore

SCOPE: Final = "lifecycle"
_AUTOMATIC: Final = frozenset({Level.low, Level.medium})


class LifecycleAction(StrEnum):
    """Why a policy deletes; `policy.toml` lists these words in the scope `lifecycle`."""

    expire = "sandbox.expire"
    switch = "sandbox.replace"
    clean = "sandbox.clean"


@dataclass(frozen=True, slots=True, kw_only=True)
class Deletion:
    """One deletion to be made: of what, by which policy, for which reason."""

    row: SandboxRow
    action: LifecycleAction
    reason: Mapping[str, str | int]
    untouched_since_ms: int | None = None


def may_happen_by_itself(policy: Policy, action: LifecycleAction) -> bool:
    """Whether the policy file lets this be done without an Owner's ticket."""
    return policy.judge(action, SCOPE) in _AUTOMATIC


def queue_deletion(database: Database, policy: Policy, deletion: Deletion) -> SandboxJob | None:
    """Write operation and audit row in the caller's transaction; the job to hand over.

    None when the policy file does not let this happen by itself, when something is being done to
    the sandbox's life already, or when its row is no longer as the decision saw it.
    """
    row = deletion.row
    level = policy.judge(deletion.action, SCOPE)
    if not may_happen_by_itself(policy, deletion.action) or not _is_as_seen(database, row):
        return None
    plan = _plan_of(deletion, policy)
    operation = new_operation_id()
    OperationStore(database).insert_operation(
        NewOperation(
            id=operation,
            origin=plan.origin,
            task_id=None,
            call_id=None,
            action=plan.action,
            level=level,
            identity=plan.identity,
            executor=SANDBOX_EXECUTOR,
            plan_hash=hash_plan(plan),
            plan=_protected(plan.effect_fields()),
        )
    )
    SandboxStore(database).insert_operation(operation, row.id, "delete", is_write=True)
    AuditStore(database).add_event(
        "lifecycle.deletion",
        actor=LIFECYCLE_IDENTITY,
        detail=_describe(deletion, policy),
        operation_id=operation,
        level=level,
    )
    return SandboxJob(
        operation=operation,
        sandbox=row.id,
        slot=row.slot or 0,
        node=row.node,
        name=SandboxName(row.name),
        instance=row.instance,
        kind=JobKind.delete,
        work=Delete(untouched_since_ms=deletion.untouched_since_ms),
    )


def _describe(deletion: Deletion, policy: Policy) -> Protected:
    """What the audit keeps of a deletion: of what, why, by which policy."""
    row = deletion.row
    return _protected(
        {
            "action": deletion.action.value,
            "sandbox": row.name,
            "instance": row.instance,
            "node": row.node,
            "reason": dict(deletion.reason),
            "policy_version": policy.version,
        }
    )


def _is_as_seen(database: Database, row: SandboxRow) -> bool:
    sandboxes = SandboxStore(database)
    if sandboxes.find(row.id) != row or sandboxes.has_open_lifecycle(row.id):
        return False
    return row.slot is not None or OrphanStore(database).find_for(row.id) is not None


def _plan_of(deletion: Deletion, policy: Policy) -> ActionPlan:
    row = deletion.row
    return ActionPlan(
        action=deletion.action.value,
        origin=Origin(kind="lifecycle", id=str(row.id)),
        identity=LIFECYCLE_IDENTITY,
        target={
            "sandbox": row.name,
            "instance": row.instance,
            "node": row.node,
            "image_digest": row.image_digest,
            "image_revision": row.image_revision,
        },
        scope=SCOPE,
        effect={"files": "destroyed", "reason": dict(deletion.reason)},
        destination=f"node:{row.node}",
        expected="deleted",
        policy_version=policy.version,
    )


def _protected(facts: dict[str, JsonValue]) -> Protected:
    """Facts as they are stored; never missing, also where a scan did not finish."""
    sealed = protect(facts, Channel.AUDIT)
    return sealed if sealed.content else protect({}, Channel.AUDIT)
