"""Nodes, orphans and the image switch as the console shows them."""

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

_EVIDENCE_CODE_POINTS: Final = 4_096
MAX_NODES: Final = 100
MAX_ORPHANS: Final = 200


@dataclass(frozen=True, slots=True, kw_only=True)
class NodeView:
    """A node: what is thought of it since when, and the evidence (JSON of ids, times, codes)."""

    name: str
    state: str
    since_ms: int
    seen_at_ms: int | None
    evidence: Excerpt


@dataclass(frozen=True, slots=True, kw_only=True)
class OrphanView:
    """What may still lie on a node although it should not."""

    id: int
    sandbox_id: int
    cause: str
    node: str
    name: str
    instance: str
    reason: str
    attempts: int
    next_try_ms: int
    found_at_ms: int


@dataclass(frozen=True, slots=True, kw_only=True)
class SwitchView:
    """The newest switch of the global image; `doomed` is the JSON list of what it destroys."""

    ticket_id: str
    operation_id: str
    reference: str
    digest: str
    introduction: str = field(repr=False)
    from_digest: str
    from_revision: int
    doomed: Excerpt
    state: str
    reason: str
    started_at_ms: int
    changed_at_ms: int


_NODE_TEXTS: Final = texts("name", "state")
_EVIDENCE: Final = excerpt("evidence", _EVIDENCE_CODE_POINTS)
_NODES: Final = f"""
SELECT {_NODE_TEXTS}, {_EVIDENCE}, since_ms, seen_at_ms FROM nodes ORDER BY name LIMIT :limit
"""  # noqa: S608 - joined from constants only
_ORPHAN_TEXTS: Final = texts("cause", "node", "name", "instance", "reason")
_ORPHANS: Final = f"""
SELECT id, sandbox_id, {_ORPHAN_TEXTS}, attempts, next_try_ms, found_at_ms
FROM orphans WHERE state = 'open' ORDER BY id LIMIT :limit
"""  # noqa: S608
_SWITCH_TEXTS: Final = texts(
    "ticket_id",
    "operation_id",
    "reference",
    "digest",
    "from_digest",
    "state",
    "reason",
)
_INTRODUCTION: Final = texts("introduction", code_points=PASSAGE_CODE_POINTS)
_DOOMED: Final = excerpt("doomed", _EVIDENCE_CODE_POINTS)
_SWITCH: Final = f"""
SELECT {_SWITCH_TEXTS}, {_INTRODUCTION}, {_DOOMED}, from_revision, started_at_ms, changed_at_ms
FROM image_switches ORDER BY id DESC LIMIT 1
"""  # noqa: S608


def list_nodes(db: Database) -> tuple[NodeView, ...]:
    """Every node, by name."""
    return tuple(map(_node, read_all(db, _NODES, {"limit": MAX_NODES})))


def list_orphans(db: Database) -> tuple[OrphanView, ...]:
    """Every open orphan, oldest first."""
    return tuple(OrphanView(**row) for row in read_all(db, _ORPHANS, {"limit": MAX_ORPHANS}))


def find_switch(db: Database) -> SwitchView | None:
    """The newest switch, whatever became of it."""
    row = read_one(db, _SWITCH)
    return None if row is None else SwitchView(**with_excerpts(row, "doomed"))


def _node(row: Row) -> NodeView:
    return NodeView(**with_excerpts(row, "evidence"))
