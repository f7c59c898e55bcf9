"""Sandboxes and the global image as the console shows them."""

from dataclasses import dataclass, field
from typing import Final

from perlica.stores.database import Database, Row
from perlica.stores.views.columns import (
    PASSAGE_CODE_POINTS,
    Excerpt,
    excerpt,
    read_all,
    read_one,
    texts,
    with_excerpts,
)


@dataclass(frozen=True, slots=True, kw_only=True)
class SandboxView:
    """A sandbox; `slot` is None once it is deleted or lost, `limits` are JSON."""

    id: int
    name: str
    slot: int | None
    state: str
    state_reason: str
    purpose: Excerpt = field(repr=False)
    node: str
    instance: str
    image_digest: str
    image_revision: int
    limits: str
    network: str
    created_at_ms: int
    last_active_at_ms: int
    ended_at_ms: int | None
    idle_ms: int
    has_unknown: bool
    disk_used_bytes: int | None
    disk_seen_at_ms: int | None


@dataclass(frozen=True, slots=True, kw_only=True)
class ImageView:
    """The one global image."""

    reference: str
    digest: str
    introduction: str
    revision: int
    updated_at_ms: int


_TEXTS: Final = texts(
    "name", "state", "state_reason", "node", "instance", "image_digest", "network"
)
_LIMITS: Final = texts("limits", code_points=4_096)
_PURPOSE: Final = excerpt("purpose", PASSAGE_CODE_POINTS)
_SELECT: Final = f"""
SELECT id, slot, image_revision, created_at_ms, last_active_at_ms, ended_at_ms, idle_ms,
    {_TEXTS}, {_PURPOSE}, {_LIMITS},
    EXISTS (SELECT 1 FROM operations JOIN sandbox_operations AS done
        ON done.operation_id = operations.id
        WHERE operations.state = 'unknown' AND done.sandbox_id = sandboxes.id) AS has_unknown,
    disk.used_bytes AS disk_used_bytes, disk.seen_at_ms AS disk_seen_at_ms
FROM sandboxes LEFT JOIN sandbox_disk_use AS disk ON disk.sandbox_id = sandboxes.id
"""  # noqa: S608 - joined from constants only
_LIVING: Final = f"{_SELECT} WHERE slot IS NOT NULL ORDER BY slot"
_ENDED: Final = f"{_SELECT} WHERE slot IS NULL ORDER BY id DESC LIMIT :limit"
_FIND: Final = f"{_SELECT} WHERE id = :id"
_IMAGE_TEXTS: Final = texts("reference", "digest", "introduction", code_points=PASSAGE_CODE_POINTS)
_IMAGE: Final = f"""
SELECT {_IMAGE_TEXTS}, revision, updated_at_ms
FROM sandbox_image_config
"""  # noqa: S608


def list_living(db: Database) -> tuple[SandboxView, ...]:
    """Every sandbox that holds a slot, by slot."""
    return tuple(map(_sandbox, read_all(db, _LIVING)))


def list_ended(db: Database, limit: int) -> tuple[SandboxView, ...]:
    """The newest of those that are deleted or lost."""
    return tuple(map(_sandbox, read_all(db, _ENDED, {"limit": limit})))


def find_sandbox(db: Database, sandbox: int) -> SandboxView | None:
    """A sandbox by its row."""
    row = read_one(db, _FIND, {"id": sandbox})
    return None if row is None else _sandbox(row)


def find_image(db: Database) -> ImageView | None:
    """The global image, None before one was set."""
    row = read_one(db, _IMAGE)
    return None if row is None else ImageView(**row)


def _sandbox(row: Row) -> SandboxView:
    row["has_unknown"] = bool(row["has_unknown"])
    return SandboxView(**with_excerpts(row, "purpose"))
