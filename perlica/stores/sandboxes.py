"""Sandboxes and the one global image; the gateway reserves, the workers move, the reconciler asks.

Three slots bound how many exist, counting those in creation, in deletion and unconfirmed ones; a
name is free again when its clean-up is confirmed; nothing is created while the image is switched.
The schema holds all of it.
"""

import json
from collections.abc import Iterable
from dataclasses import asdict, dataclass, field
from typing import Final, Literal

from perlica.domain.clock import now_ms
from perlica.domain.errors import Refused, StaleState
from perlica.domain.ids import OperationId, RowId, SandboxName
from perlica.domain.operation import OperationState
from perlica.domain.sandbox import (
    MAX_SANDBOXES,
    OCCUPYING,
    BackendSandbox,
    SandboxImage,
    SandboxLimits,
    SandboxSpec,
    SandboxState,
)
from perlica.protection import Protected
from perlica.stores.database import Database, Row
from perlica.stores.sealed import columns, reason_text, require_usable, restored

OperationKind = Literal["create", "exec", "read", "write", "list", "stop", "delete"]


@dataclass(frozen=True, slots=True, kw_only=True)
class SandboxRow:
    """A row of `sandboxes`; `slot` is None once it is deleted or lost."""

    id: RowId
    name: SandboxName
    slot: int | None
    state: SandboxState
    state_reason: str
    purpose: Protected = field(repr=False)
    node: str
    instance: str
    image_digest: str
    image_revision: int
    limits: SandboxLimits
    network: str
    idle_ms: int
    created_at_ms: int
    last_active_at_ms: int
    ended_at_ms: int | None


@dataclass(frozen=True, slots=True, kw_only=True)
class SandboxOperation:
    """What was done in or to a sandbox, with the state of its operation."""

    operation_id: OperationId
    sandbox_id: RowId
    kind: OperationKind
    is_write: bool
    state: OperationState
    outcome: Protected = field(repr=False)
    created_at_ms: int
    ended_at_ms: int | None


_IMAGE: Final = "SELECT reference, digest, introduction, revision FROM sandbox_image_config"
_SET_IMAGE: Final = """
INSERT INTO sandbox_image_config (id, reference, digest, introduction, revision, updated_at_ms)
VALUES (1, :reference, :digest, :introduction, :revision, :now_ms)
ON CONFLICT (id) DO UPDATE SET
    reference = excluded.reference,
    digest = excluded.digest,
    introduction = excluded.introduction,
    revision = excluded.revision,
    updated_at_ms = excluded.updated_at_ms
WHERE excluded.revision > sandbox_image_config.revision
RETURNING revision
"""
_TAKEN_SLOTS: Final = "SELECT slot FROM sandboxes WHERE slot IS NOT NULL"
_RESERVE: Final = """
INSERT INTO sandboxes (name, slot, state, purpose, protection_status, policy_version, finding_count,
    node, image_digest, image_revision, limits, network, idle_ms, created_at_ms, last_active_at_ms)
VALUES (:name, :slot, 'creating', :purpose, :protection_status, :policy_version, :finding_count,
    :node, :image_digest, :image_revision, :limits, :network, :idle_ms, :now_ms, :now_ms)
RETURNING *
"""
_ADOPT: Final = """
INSERT INTO sandboxes (name, slot, state, state_reason, purpose, protection_status, policy_version,
    finding_count, node, instance, image_digest, image_revision, limits, network, created_at_ms,
    last_active_at_ms, ended_at_ms)
VALUES (:name, NULL, 'lost', 'found on its node', :purpose, :protection_status, :policy_version,
    :finding_count, :node, :instance, :image_digest, 0, :limits, 'none', :now_ms, :now_ms, :now_ms)
RETURNING *
"""
_IS_SWITCHING: Final = "SELECT 1 FROM image_switches WHERE state <> 'activated'"
_FIND_LIVING: Final = "SELECT * FROM sandboxes WHERE name = :name AND slot IS NOT NULL"
_FIND: Final = "SELECT * FROM sandboxes WHERE id = :id"
_FIND_INSTANCE: Final = """
SELECT * FROM sandboxes WHERE node = :node AND instance = :instance ORDER BY id DESC LIMIT 1
"""
_LIST_ENDED: Final = """
SELECT * FROM sandboxes WHERE slot IS NULL AND node = :node AND name = :name ORDER BY id DESC
"""
_LIST_LIVING: Final = "SELECT * FROM sandboxes WHERE slot IS NOT NULL ORDER BY slot"
_MOVE: Final = """
UPDATE sandboxes SET
    state = :after,
    state_reason = :reason,
    instance = coalesce(:instance, instance),
    slot = iif(:occupies, slot, NULL),
    ended_at_ms = iif(:occupies, NULL, coalesce(ended_at_ms, :now_ms))
WHERE id = :id AND state = :before
RETURNING *
"""
_TOUCH: Final = """
UPDATE sandboxes SET last_active_at_ms = max(last_active_at_ms, :at_ms)
WHERE id = :id AND state IN ('creating', 'ready', 'stopped')
RETURNING *
"""
_BEGIN_DELETION: Final = """
UPDATE sandboxes SET state = 'deleting', state_reason = ''
WHERE id = :id AND state IN ('ready', 'stopped', 'unconfirmed', 'deleting')
    AND (:untouched_since_ms IS NULL OR last_active_at_ms <= :untouched_since_ms)
RETURNING *
"""
_SET_PURPOSE: Final = """
UPDATE sandboxes SET purpose = :purpose, protection_status = :protection_status,
    policy_version = :policy_version, finding_count = :finding_count
WHERE id = :id AND slot IS NOT NULL
RETURNING *
"""
_INSERT_OPERATION: Final = """
INSERT INTO sandbox_operations (operation_id, sandbox_id, kind, is_write, created_at_ms)
VALUES (:operation_id, :sandbox_id, :kind, :is_write, :created_at_ms)
"""
_DEED: Final = """
SELECT done.*, operations.state, operations.ended_at_ms, operations.outcome,
    operations.protection_status, operations.policy_version, operations.finding_count
"""
_LIST_OPERATIONS: Final = f"""
{_DEED}
FROM sandbox_operations AS done JOIN operations ON operations.id = done.operation_id
WHERE done.sandbox_id = :sandbox_id ORDER BY done.rowid DESC LIMIT :limit
"""
_FIND_OPERATION: Final = f"""
{_DEED}
FROM sandbox_operations AS done JOIN operations ON operations.id = done.operation_id
WHERE done.operation_id = :operation_id
"""
# From the few operations that are open, not from the many that a sandbox has seen.
_OPEN: Final = """
FROM operations INDEXED BY operations_open
JOIN sandbox_operations AS done ON done.operation_id = operations.id
WHERE operations.state IN ('queued', 'started', 'unknown') AND done.sandbox_id = :sandbox_id
"""
_HAS_OPEN: Final = f"""
SELECT 1 {_OPEN} AND operations.state IN ('queued', 'started')
    AND done.kind IN ('create', 'stop', 'delete') LIMIT 1
"""
_LIST_UNKNOWN: Final = f"""
{_DEED} {_OPEN}
    AND operations.state = 'unknown' ORDER BY done.rowid
"""
_HAS_UNKNOWN: Final = f"SELECT 1 {_OPEN} AND operations.state = 'unknown' LIMIT 1"


class SandboxStore:
    """Reads and writes `sandbox_image_config`, `sandboxes` and `sandbox_operations`."""

    def __init__(self, db: Database) -> None:
        """Work on this connection."""
        self._db = db

    def image(self) -> SandboxImage | None:
        """The global image, None before an Owner or the configuration set one."""
        row = self._db.query_one(_IMAGE)
        return None if row is None else SandboxImage(**row)

    def set_image(self, image: SandboxImage) -> None:
        """Set the global image; the same again changes nothing.

        Raises: StaleState when the revision is not higher than that of the stored one.
        """
        if self.image() == image:
            return
        if self._db.change_one(_SET_IMAGE, {**asdict(image), "now_ms": now_ms()}) is None:
            raise StaleState("image_changed", f"the image has moved past revision {image.revision}")

    def reserve(self, spec: SandboxSpec, image: SandboxImage, purpose: Protected) -> SandboxRow:
        """Take a free slot and the name for a sandbox that is to be created from `image`.

        Raises: Refused `sandbox_capacity`, `sandbox_name_taken`, or `image_switching` while the
        image is switched; StaleState when the global image is another one by now.
        """
        if self._db.query_one(_IS_SWITCHING) is not None:
            raise Refused("image_switching", "正在更换沙箱镜像，完成前不能创建沙箱")
        if self.image() != image:
            raise StaleState("image_changed", "the global image has changed")
        row = self._db.change(
            _RESERVE,
            {
                "name": spec.name,
                "slot": self._free_slot(),
                "node": spec.node,
                "image_digest": image.digest,
                "image_revision": image.revision,
                "limits": json.dumps(asdict(spec.limits)),
                "network": spec.network,
                "idle_ms": spec.idle_ms,
                "now_ms": now_ms(),
                **columns("purpose", require_usable(purpose)),
            },
        )[0]
        return _sandbox(row)

    def _free_slot(self) -> int:
        taken = {row["slot"] for row in self._db.query(_TAKEN_SLOTS)}
        free = [slot for slot in range(1, MAX_SANDBOXES + 1) if slot not in taken]
        if not free:
            raise Refused("sandbox_capacity", f"已有 {MAX_SANDBOXES} 个沙箱，这是上限")
        return free[0]

    def find_living(self, name: SandboxName) -> SandboxRow | None:
        """The sandbox that holds a name now."""
        row = self._db.query_one(_FIND_LIVING, {"name": name})
        return None if row is None else _sandbox(row)

    def find(self, sandbox: RowId) -> SandboxRow | None:
        """A sandbox by its row, also one that has ended."""
        row = self._db.query_one(_FIND, {"id": sandbox})
        return None if row is None else _sandbox(row)

    def adopt_unknown(self, node: str, found: BackendSandbox, purpose: Protected) -> SandboxRow:
        """A row, ended from its beginning, for a sandbox that lies on a node and was never ours."""
        limits = SandboxLimits(
            memory_bytes=0, pids=0, cpu_millis=0, disk_bytes=found.disk_bytes, nofile=0
        )
        row = self._db.change(
            _ADOPT,
            {
                "name": found.name,
                "node": node,
                "instance": found.instance,
                "image_digest": found.image_digest,
                "limits": json.dumps(asdict(limits)),
                "now_ms": now_ms(),
                **columns("purpose", require_usable(purpose)),
            },
        )[0]
        return _sandbox(row)

    def find_instance(self, node: str, instance: str) -> SandboxRow | None:
        """The row of an instance, also one that has ended."""
        row = self._db.query_one(_FIND_INSTANCE, {"node": node, "instance": instance})
        return None if row is None else _sandbox(row)

    def list_ended(self, node: str, name: SandboxName) -> tuple[SandboxRow, ...]:
        """Rows that ended on a node under a name, newest first."""
        rows = self._db.query(_LIST_ENDED, {"node": node, "name": name})
        return tuple(_sandbox(row) for row in rows)

    def list_living(self) -> tuple[SandboxRow, ...]:
        """Every sandbox that holds a slot, by slot."""
        return tuple(_sandbox(row) for row in self._db.query(_LIST_LIVING))

    def move(
        self,
        sandbox: RowId,
        *,
        before: SandboxState,
        after: SandboxState,
        reason: str = "",
        instance: str | None = None,
    ) -> SandboxRow:
        """Move a sandbox on; `deleted` and `lost` give slot and name back.

        Raises: StaleState when it is not in `before` any more; Refused for one that has ended.
        """
        row = self._db.change_one(
            _MOVE,
            {
                "id": sandbox,
                "before": before.value,
                "after": after.value,
                "reason": reason_text(reason),
                "instance": instance,
                "occupies": after in OCCUPYING,
                "now_ms": now_ms(),
            },
        )
        if row is None:
            raise StaleState("sandbox_moved", f"sandbox row {sandbox} is not {before}")
        return _sandbox(row)

    def touch(self, sandbox: RowId, at_ms: int) -> SandboxRow:
        """Count a real use, which puts its expiry off. Raises: StaleState when it is ending."""
        return self._touched(self._db.change_one(_TOUCH, {"id": sandbox, "at_ms": at_ms}), sandbox)

    def begin_deletion(
        self, sandbox: RowId, *, untouched_since_ms: int | None = None
    ) -> SandboxRow:
        """Say that it is being deleted; from here on no use of it begins.

        Raises: StaleState when it was used after `untouched_since_ms`, is not made yet or ended.
        """
        bindings = {"id": sandbox, "untouched_since_ms": untouched_since_ms}
        row = self._db.change_one(_BEGIN_DELETION, bindings)
        if row is None:
            raise StaleState("sandbox_in_use", f"sandbox row {sandbox} was used or has moved on")
        return _sandbox(row)

    def set_purpose(self, sandbox: RowId, purpose: Protected) -> SandboxRow:
        """Describe it anew; not a use. Raises: StaleState when it has ended."""
        bindings = {"id": sandbox, **columns("purpose", require_usable(purpose))}
        return self._touched(self._db.change_one(_SET_PURPOSE, bindings), sandbox)

    def insert_operation(
        self, operation: OperationId, sandbox: RowId, kind: OperationKind, *, is_write: bool
    ) -> None:
        """Say which sandbox an operation is about."""
        bindings = {
            "operation_id": operation,
            "sandbox_id": sandbox,
            "kind": kind,
            "is_write": is_write,
            "created_at_ms": now_ms(),
        }
        self._db.change(_INSERT_OPERATION, bindings)

    def list_operations(self, sandbox: RowId, limit: int) -> tuple[SandboxOperation, ...]:
        """What was done in or to a sandbox, newest first."""
        rows = self._db.query(_LIST_OPERATIONS, {"sandbox_id": sandbox, "limit": limit})
        return tuple(_operations(rows))

    def find_operation(self, operation: OperationId) -> SandboxOperation | None:
        """What an operation did to which sandbox; None when it touched none."""
        rows = self._db.query(_FIND_OPERATION, {"operation_id": operation})
        return next(iter(_operations(rows)), None)

    def has_open_lifecycle(self, sandbox: RowId) -> bool:
        """Whether its creation, stop or deletion is queued or under way."""
        return self._db.query_one(_HAS_OPEN, {"sandbox_id": sandbox}) is not None

    def list_unknown(self, sandbox: RowId) -> tuple[SandboxOperation, ...]:
        """What was done to it with an outcome that nobody knows, oldest first."""
        return tuple(_operations(self._db.query(_LIST_UNKNOWN, {"sandbox_id": sandbox})))

    def has_unknown(self, sandbox: RowId) -> bool:
        """Whether an operation with an unknown outcome touched it: it refuses writes until then."""
        return self._db.query_one(_HAS_UNKNOWN, {"sandbox_id": sandbox}) is not None

    @staticmethod
    def _touched(row: Row | None, sandbox: RowId) -> SandboxRow:
        if row is None:
            raise StaleState("sandbox_ending", f"sandbox row {sandbox} is ending or has ended")
        return _sandbox(row)


def _operations(rows: Iterable[Row]) -> Iterable[SandboxOperation]:
    for row in rows:
        yield SandboxOperation(
            operation_id=OperationId(row["operation_id"]),
            sandbox_id=RowId(row["sandbox_id"]),
            kind=row["kind"],
            is_write=bool(row["is_write"]),
            state=OperationState(row["state"]),
            outcome=restored(row, "outcome"),
            created_at_ms=row["created_at_ms"],
            ended_at_ms=row["ended_at_ms"],
        )


def _sandbox(row: Row) -> SandboxRow:
    return SandboxRow(
        id=RowId(row["id"]),
        name=SandboxName(row["name"]),
        slot=row["slot"],
        state=SandboxState(row["state"]),
        state_reason=row["state_reason"],
        purpose=restored(row, "purpose"),
        node=row["node"],
        instance=row["instance"],
        image_digest=row["image_digest"],
        image_revision=row["image_revision"],
        limits=SandboxLimits(**json.loads(row["limits"])),
        network=row["network"],
        idle_ms=row["idle_ms"],
        created_at_ms=row["created_at_ms"],
        last_active_at_ms=row["last_active_at_ms"],
        ended_at_ms=row["ended_at_ms"],
    )
