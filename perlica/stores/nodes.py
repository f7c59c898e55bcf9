"""Nodes: what is thought of each, the evidence for it, and every look that was taken.

The keeper writes after each look; the gateway reads where a sandbox may be created, the Owners'
commands show it.
"""

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Final

from perlica.domain.clock import now_ms
from perlica.domain.node import NodeState
from perlica.domain.sandbox import HeldImage
from perlica.protection import Channel, JsonValue, protect
from perlica.stores.database import Database, Row
from perlica.stores.sealed import reason_text


@dataclass(frozen=True, slots=True, kw_only=True)
class NodeRow:
    """A row of `nodes`; `evidence` and `identity` are what the last verdict rests on."""

    name: str
    state: NodeState
    since_ms: int
    identity: Mapping[str, JsonValue]
    evidence: Mapping[str, JsonValue]
    images: tuple[HeldImage, ...]
    seen_at_ms: int | None


@dataclass(frozen=True, slots=True, kw_only=True)
class Observation:
    """A row of `node_observations`: `looks` equal looks in a row."""

    node: str
    finding: str
    detail: Mapping[str, JsonValue]
    looks: int
    first_at_ms: int
    last_at_ms: int


_FIND: Final = "SELECT * FROM nodes WHERE name = :name"
_LIST: Final = "SELECT * FROM nodes ORDER BY name"
_SET: Final = """
INSERT INTO nodes (name, state, since_ms, identity, evidence)
VALUES (:name, :state, :now_ms, :identity, :evidence)
ON CONFLICT (name) DO UPDATE SET
    state = excluded.state,
    since_ms = iif(excluded.state = nodes.state, nodes.since_ms, excluded.since_ms),
    identity = excluded.identity,
    evidence = excluded.evidence
RETURNING *
"""
_SEEN: Final = "UPDATE nodes SET seen_at_ms = :now_ms, images = :images WHERE name = :name"
_SAME_LOOK: Final = """
UPDATE node_observations SET looks = looks + 1, last_at_ms = :now_ms
WHERE id = (SELECT max(id) FROM node_observations WHERE node = :node)
    AND finding = :finding AND detail = :detail
RETURNING id
"""
_NEW_LOOK: Final = """
INSERT INTO node_observations (node, finding, detail, first_at_ms, last_at_ms)
VALUES (:node, :finding, :detail, :now_ms, :now_ms)
"""
_LIST_LOOKS: Final = """
SELECT * FROM node_observations WHERE node = :node ORDER BY id DESC LIMIT :limit
"""


class NodeStore:
    """Reads and writes `nodes` and `node_observations`."""

    def __init__(self, db: Database) -> None:
        """Work on this connection."""
        self._db = db

    def find(self, name: str) -> NodeRow | None:
        """What is thought of a node, None before the first look at it."""
        row = self._db.query_one(_FIND, {"name": name})
        return None if row is None else _node(row)

    def list_all(self) -> tuple[NodeRow, ...]:
        """Every node that was ever looked at, by name."""
        return tuple(_node(row) for row in self._db.query(_LIST))

    def set_state(
        self,
        name: str,
        state: NodeState,
        *,
        identity: Mapping[str, JsonValue],
        evidence: Mapping[str, JsonValue],
    ) -> NodeRow:
        """Keep a verdict; `since_ms` stays while the state does."""
        bindings = {
            "name": name,
            "state": state.value,
            "identity": _json(dict(identity)),
            "evidence": _json(dict(evidence)),
            "now_ms": now_ms(),
        }
        return _node(self._db.change(_SET, bindings)[0])

    def note_seen(self, name: str, images: Sequence[HeldImage]) -> None:
        """Keep what a good look showed."""
        held: list[JsonValue] = [
            {"digest": image.digest, "reference": image.reference} for image in images
        ]
        self._db.change(_SEEN, {"name": name, "images": _json(held), "now_ms": now_ms()})

    def add_look(self, name: str, finding: str, detail: Mapping[str, JsonValue]) -> None:
        """Record one look; one that equals the last is counted with it."""
        bindings = {
            "node": name,
            "finding": reason_text(finding),
            "detail": _json(dict(detail)),
            "now_ms": now_ms(),
        }
        if self._db.change_one(_SAME_LOOK, bindings) is None:
            self._db.change(_NEW_LOOK, bindings)

    def list_looks(self, name: str, limit: int) -> tuple[Observation, ...]:
        """The newest looks at a node first."""
        rows = self._db.query(_LIST_LOOKS, {"node": name, "limit": limit})
        return tuple(
            Observation(
                node=row["node"],
                finding=row["finding"],
                detail=json.loads(row["detail"]),
                looks=row["looks"],
                first_at_ms=row["first_at_ms"],
                last_at_ms=row["last_at_ms"],
            )
            for row in rows
        )


def _json(value: JsonValue) -> str:
    """What a peer said, protected; an empty one of its kind where the scan did not finish."""
    return protect(value, Channel.AUDIT).content or ("[]" if isinstance(value, list) else "{}")


def _node(row: Row) -> NodeRow:
    return NodeRow(
        name=row["name"],
        state=NodeState(row["state"]),
        since_ms=row["since_ms"],
        identity=json.loads(row["identity"]),
        evidence=json.loads(row["evidence"]),
        images=tuple(HeldImage(**image) for image in json.loads(row["images"])),
        seen_at_ms=row["seen_at_ms"],
    )
