"""Current facts about sandboxes that plans are made from; shared by the sandbox tools."""

from collections.abc import Callable

from perlica.domain.errors import Refused
from perlica.domain.ids import OperationId, SandboxName
from perlica.domain.plan import ActionPlan, JsonValue
from perlica.domain.ports import WRITING, JobKind, SandboxJob, Work
from perlica.domain.sandbox import SandboxImage, SandboxState, check_name
from perlica.gateway.core.tool import CallContext, Planned
from perlica.gateway.core.work import Change, Mandate, ToolResult
from perlica.stores.sandboxes import SandboxRow, SandboxStore

_USABLE = frozenset({SandboxState.ready, SandboxState.stopped})


def find_usable(context: CallContext, name: str) -> SandboxRow:
    """The living sandbox of that name in a state in which work may be done.

    Raises: Refused with the reason and what to do instead.
    """
    row = SandboxStore(context.database).find_living(check_name(name))
    if row is None:
        raise Refused(
            "no_such_sandbox",
            f"there is no sandbox {name!r}; create it first (sandbox_manage, action create)",
        )
    if row.state is SandboxState.deleting:
        raise Refused("sandbox_ending", f"sandbox {name!r} is being deleted; nothing was done")
    if row.state not in _USABLE:
        raise Refused("sandbox_not_usable", f"sandbox {name!r} is {row.state.value} now")
    return row


def refuse_writes_while_unknown(context: CallContext, row: SandboxRow) -> None:
    """Raises Refused while an earlier operation in this sandbox has an unknown outcome."""
    if SandboxStore(context.database).has_unknown(row.id):
        raise Refused(
            "sandbox_in_recovery",
            f"sandbox {row.name!r} takes no changes until an Owner resolves an operation whose"
            " outcome is unknown (.recovery)",
        )


def identity_of(row: SandboxRow) -> dict[str, JsonValue]:
    """The stable identity that a plan is bound to: never only the name."""
    return {
        "sandbox": row.name,
        "instance": row.instance,
        "node": row.node,
        "image_digest": row.image_digest,
        "image_revision": row.image_revision,
    }


def current_image(context: CallContext) -> SandboxImage:
    """The global image. Raises Refused when none is configured."""
    image = SandboxStore(context.database).image()
    if image is None:
        raise Refused("no_image", "no sandbox image is configured")
    return image


def queue_job(
    context: CallContext,
    operation: OperationId,
    row: SandboxRow,
    *,
    kind: JobKind,
    work: Work,
) -> SandboxJob:
    """Write what the operation does to this sandbox and return the serializer's job.

    Runs in the transaction that inserts the operation's row.
    """
    writes = kind in WRITING
    SandboxStore(context.database).insert_operation(operation, row.id, kind.value, is_write=writes)
    return SandboxJob(
        operation=operation,
        sandbox=row.id,
        slot=row.slot or 0,
        node=row.node,
        name=SandboxName(row.name),
        instance=row.instance,
        kind=kind,
        work=work,
    )


def plan_change(
    context: CallContext,
    action: str,
    *,
    scope: str,
    destination: str,
    target: dict[str, JsonValue],
    effect: dict[str, JsonValue],
    run: Callable[[Mandate], ToolResult],
) -> Planned:
    """An Owner's change as a plan: `scope` is what it touches, `destination` which nodes."""
    plan = ActionPlan(
        action=action,
        origin=context.origin,
        identity="perlica",
        target=target,
        scope=scope,
        effect=effect,
        destination=destination,
        expected=action,
        policy_version=context.policy_version,
    )
    return Planned(plan=plan, work=Change(run=run))
