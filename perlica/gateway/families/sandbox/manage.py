"""sandbox_manage: the image, the list, creation, description, stop and deletion of sandboxes.

Creation shows introduction, digest and revision of the global image; deletion is High.
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import ClassVar, Literal

from pydantic import Field

from perlica.domain.clock import now_ms
from perlica.domain.errors import Refused
from perlica.domain.ids import OperationId
from perlica.domain.plan import ActionPlan, JsonValue
from perlica.domain.ports import (
    SANDBOX_EXECUTOR,
    Create,
    Delete,
    JobKind,
    JobOutcome,
    SandboxJob,
    Stop,
)
from perlica.domain.sandbox import SandboxImage, SandboxSpec, check_name
from perlica.domain.texts import Language, say_duration
from perlica.gateway.core.tool import CallContext, Planned, ToolArguments
from perlica.gateway.core.work import Change, Mandate, Queued, Read, ToolResult
from perlica.gateway.families.sandbox.facts import (
    current_image,
    find_usable,
    identity_of,
    queue_job,
    refuse_writes_while_unknown,
)
from perlica.gateway.families.sandbox.nodes import choose_node
from perlica.gateway.families.sandbox.settings import SandboxContext, SandboxSettings
from perlica.protection import Channel, protect
from perlica.sandboxes.expiry import left_ms
from perlica.stores.sandboxes import SandboxRow, SandboxStore

_LIFECYCLE_WITHIN_S = 180.0
_SOURCE = "sandboxes"
_MAX_PURPOSE = 200


class ManageArguments(ToolArguments):
    """Arguments of sandbox_manage; `name` is needed by all actions but image and list."""

    action: Literal["image", "list", "create", "describe", "keep", "stop", "delete"]
    name: str = Field(default="", description="Name of the sandbox.")
    purpose: str = Field(
        default="",
        max_length=_MAX_PURPOSE,
        description="What the sandbox is for (create, describe).",
    )
    node: str = Field(
        default="",
        description="Node to create it on, for life; leave it empty unless a node was asked for.",
    )


@dataclass(frozen=True, slots=True)
class SandboxManage:
    """Manage sandboxes."""

    name: ClassVar[str] = "sandbox_manage"
    description: ClassVar[str] = (
        "Manage sandboxes. image: what all sandboxes are made of. list: those that exist, with the"
        " time left until one that nobody uses is deleted. create: a new one (at most three exist);"
        " it is pinned to its node for life. describe: change the purpose text. keep: leave it as"
        " it is; neither counts as a use. stop: end what runs, files stay. delete: destroy it; this"
        " waits for an Owner."
    )
    arguments: ClassVar[type[ToolArguments]] = ManageArguments
    settings: SandboxSettings

    def plan(self, arguments: ManageArguments, context: CallContext) -> Planned:
        """See Tool."""
        match arguments.action:
            case "image":
                return _look(context, "sandbox.image", lambda: _show_image(context))
            case "list":
                within = self.settings.within(context)
                return _look(context, "sandbox.list", lambda: _show_list(within))
            case "create":
                return _plan_create(arguments, self.settings.within(context))
            case "describe":
                return _plan_describe(arguments, context)
            case "keep":
                row = find_usable(context, arguments.name)
                return _look(context, "sandbox.keep", lambda: _said("kept as it is"), row=row)
            case "stop":
                return _plan_stop(arguments, context)
            case "delete":
                return _plan_delete(arguments, context)


def _said(text: str) -> ToolResult:
    return ToolResult(text=text, source=_SOURCE)


def _look(
    context: CallContext,
    action: str,
    run: Callable[[], ToolResult],
    *,
    row: SandboxRow | None = None,
) -> Planned:
    return Planned(plan=_plan_of(context, action, row=row), work=Read(run=run))


def _plan_of(
    context: CallContext,
    action: str,
    *,
    row: SandboxRow | None,
    effect: dict[str, JsonValue] | None = None,
) -> ActionPlan:
    return ActionPlan(
        action=action,
        origin=context.origin,
        identity="perlica",
        target=identity_of(row) if row else {},
        scope="sandbox" if row else "service",
        effect=effect or {},
        destination="perlica",
        expected=action,
        policy_version=context.policy_version,
    )


def _describe_image(image: SandboxImage) -> str:
    return (
        f"image {image.reference}\ndigest {image.digest}\nrevision {image.revision}\n"
        f"introduction: {image.introduction}"
    )


def _show_image(context: CallContext) -> ToolResult:
    return _said(_describe_image(current_image(context)))


def _show_list(context: SandboxContext) -> ToolResult:
    rows = SandboxStore(context.database).list_living()
    if not rows:
        return _said("there is no sandbox")
    now, idle_ms = now_ms(), context.settings.idle_ms
    return _said("\n".join(_describe_row(row, now, idle_ms) for row in rows))


def _describe_row(row: SandboxRow, now: int, idle_ms: int) -> str:
    used = say_duration(now - row.last_active_at_ms, Language.en)
    left = say_duration(left_ms(row, idle_ms, now), Language.en)
    return (
        f"{row.name}: {row.state.value}, node {row.node}, image revision {row.image_revision},"
        f" last used {used} ago, deleted in {left} unless used, purpose: {row.purpose.content}"
    )


def _plan_create(arguments: ManageArguments, context: SandboxContext) -> Planned:
    name = check_name(arguments.name)
    image = current_image(context)
    if SandboxStore(context.database).find_living(name) is not None:
        raise Refused("sandbox_name_taken", f"a sandbox {name!r} exists already")
    spec = SandboxSpec(
        name=name,
        purpose=arguments.purpose,
        node=choose_node(context, arguments.node),
        limits=context.settings.limits,
        network=context.settings.network,
        idle_ms=context.settings.idle_ms,
    )
    limits = spec.limits
    plan = ActionPlan(
        action="sandbox.create",
        origin=context.origin,
        identity="sandboxd",
        target={"sandbox": name, "node": spec.node},
        scope="sandbox",
        effect={
            "image_digest": image.digest,
            "image_revision": image.revision,
            "memory_bytes": limits.memory_bytes,
            "pids": limits.pids,
            "cpu_millis": limits.cpu_millis,
            "disk_bytes": limits.disk_bytes,
            "network": spec.network,
            "idle_ms": spec.idle_ms,
        },
        destination=f"node:{spec.node}",
        expected="created",
        policy_version=context.policy_version,
        display={"purpose": arguments.purpose},
    )

    def prepare(operation: OperationId) -> SandboxJob:
        store = SandboxStore(context.database)
        purpose = protect(arguments.purpose, Channel.TOOL_ARGUMENTS)
        row = store.reserve(spec, image, purpose)
        work = Create(spec=spec, image_digest=image.digest)
        return queue_job(context, operation, row, kind=JobKind.create, work=work)

    def present(_outcome: JobOutcome) -> ToolResult:
        return _said(f"sandbox {name} is ready, node {spec.node}\n{_describe_image(image)}")

    return _in_sandbox(plan, prepare, present)


def _plan_describe(arguments: ManageArguments, context: CallContext) -> Planned:
    row = find_usable(context, arguments.name)

    def run(_mandate: Mandate) -> ToolResult:
        purpose = protect(arguments.purpose, Channel.TOOL_ARGUMENTS)
        SandboxStore(context.database).set_purpose(row.id, purpose)
        return _said(f"purpose of {row.name} changed")

    effect: dict[str, JsonValue] = {"purpose": arguments.purpose}
    plan = _plan_of(context, "sandbox.describe", row=row, effect=effect)
    return Planned(plan=plan, work=Change(run=run))


def _plan_stop(arguments: ManageArguments, context: CallContext) -> Planned:
    row = find_usable(context, arguments.name)
    refuse_writes_while_unknown(context, row)
    return _lifecycle(context, row, JobKind.stop, Stop())


def _plan_delete(arguments: ManageArguments, context: CallContext) -> Planned:
    row = find_usable(context, arguments.name)
    refuse_writes_while_unknown(context, row)
    return _lifecycle(
        context, row, JobKind.delete, Delete(), display={"purpose": row.purpose.content}
    )


def _lifecycle(
    context: CallContext,
    row: SandboxRow,
    kind: JobKind,
    work: Stop | Delete,
    *,
    display: dict[str, JsonValue] | None = None,
) -> Planned:
    plan = ActionPlan(
        action="sandbox.delete" if kind is JobKind.delete else "sandbox.stop",
        origin=context.origin,
        identity="sandboxd",
        target=identity_of(row),
        scope="sandbox",
        effect={"files": "destroyed" if kind is JobKind.delete else "kept"},
        destination=f"node:{row.node}",
        expected=kind.value,
        policy_version=context.policy_version,
        display=display or {},
    )

    def prepare(operation: OperationId) -> SandboxJob:
        return queue_job(context, operation, row, kind=kind, work=work)

    done = (
        "deleted; its files are gone" if kind is JobKind.delete else "stopped; its files are kept"
    )
    return _in_sandbox(plan, prepare, lambda _outcome: _said(f"sandbox {row.name} is {done}"))


def _in_sandbox(
    plan: ActionPlan,
    prepare: Callable[[OperationId], SandboxJob],
    present: Callable[[JobOutcome], ToolResult],
) -> Planned:
    return Planned(
        plan=plan,
        work=Queued(
            executor=SANDBOX_EXECUTOR,
            prepare=prepare,
            present=present,
            within_s=_LIFECYCLE_WITHIN_S,
        ),
    )
