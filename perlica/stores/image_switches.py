"""Image switches: begun by an approved ticket, taken forward by the keeper, retried by an Owner.

While one is switching or blocked nothing is created; the schema holds that, and that a new image
comes into force only when no sandbox of the old one is left.
"""

import json
from collections.abc import Sequence
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Final

from perlica.domain.clock import now_ms
from perlica.domain.errors import StaleState
from perlica.domain.ids import OperationId, RowId, TicketId
from perlica.domain.sandbox import SandboxImage
from perlica.protection import Protected
from perlica.stores.database import Database, Row
from perlica.stores.sealed import reason_text, require_usable


class SwitchState(StrEnum):
    """`blocked` waits for an Owner; `activated` is the end."""

    switching = "switching"
    blocked = "blocked"
    activated = "activated"


@dataclass(frozen=True, slots=True, kw_only=True)
class Doomed:
    """A sandbox that the switch destroys, by its whole identity."""

    sandbox: RowId
    name: str
    instance: str
    node: str


@dataclass(frozen=True, slots=True, kw_only=True)
class NewSwitch:
    """A switch that an Owner approved: what to, what from, and what it destroys."""

    ticket: TicketId
    operation: OperationId
    reference: str
    digest: str
    introduction: Protected = field(repr=False)
    current: SandboxImage
    doomed: tuple[Doomed, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class ImageSwitch:
    """A row of `image_switches`."""

    id: RowId
    ticket: TicketId
    operation: OperationId
    reference: str
    digest: str
    introduction: str
    from_digest: str
    from_revision: int
    doomed: tuple[Doomed, ...]
    state: SwitchState
    reason: str
    started_at_ms: int
    changed_at_ms: int


_INSERT: Final = """
INSERT INTO image_switches (ticket_id, operation_id, reference, digest, introduction, from_digest,
    from_revision, doomed, state, started_at_ms, changed_at_ms)
VALUES (:ticket_id, :operation_id, :reference, :digest, :introduction, :from_digest,
    :from_revision, :doomed, 'switching', :now_ms, :now_ms)
RETURNING *
"""
_CURRENT: Final = "SELECT * FROM image_switches WHERE state <> 'activated'"
_LAST: Final = "SELECT * FROM image_switches ORDER BY id DESC LIMIT 1"
_MOVE: Final = """
UPDATE image_switches SET state = :after, reason = :reason, changed_at_ms = :now_ms
WHERE id = :id AND state = :before RETURNING *
"""


class ImageSwitchStore:
    """Reads and writes `image_switches`."""

    def __init__(self, db: Database) -> None:
        """Work on this connection."""
        self._db = db

    def begin(self, switch: NewSwitch) -> ImageSwitch:
        """From here on nothing is created. Raises: Refused while another switch is not through."""
        row = self._db.change(
            _INSERT,
            {
                "ticket_id": switch.ticket,
                "operation_id": switch.operation,
                "reference": switch.reference,
                "digest": switch.digest,
                "introduction": require_usable(switch.introduction).content,
                "from_digest": switch.current.digest,
                "from_revision": switch.current.revision,
                "doomed": _doomed_json(switch.doomed),
                "now_ms": now_ms(),
            },
        )[0]
        return _switch(row)

    def current(self) -> ImageSwitch | None:
        """The switch that is not through yet."""
        row = self._db.query_one(_CURRENT)
        return None if row is None else _switch(row)

    def last(self) -> ImageSwitch | None:
        """The newest switch, whatever became of it."""
        row = self._db.query_one(_LAST)
        return None if row is None else _switch(row)

    def move(
        self, switch: RowId, *, before: SwitchState, after: SwitchState, reason: str = ""
    ) -> ImageSwitch:
        """Take a switch on. Raises: StaleState when it is not in `before` any more."""
        bindings = {
            "id": switch,
            "before": before.value,
            "after": after.value,
            "reason": reason_text(reason),
            "now_ms": now_ms(),
        }
        row = self._db.change_one(_MOVE, bindings)
        if row is None:
            raise StaleState("switch_moved", f"image switch {switch} is not {before}")
        return _switch(row)


def _doomed_json(doomed: Sequence[Doomed]) -> str:
    return json.dumps(
        [
            {"sandbox": d.sandbox, "name": d.name, "instance": d.instance, "node": d.node}
            for d in doomed
        ]
    )


def _switch(row: Row) -> ImageSwitch:
    return ImageSwitch(
        id=RowId(row["id"]),
        ticket=TicketId(row["ticket_id"]),
        operation=OperationId(row["operation_id"]),
        reference=row["reference"],
        digest=row["digest"],
        introduction=row["introduction"],
        from_digest=row["from_digest"],
        from_revision=row["from_revision"],
        doomed=tuple(Doomed(**entry) for entry in json.loads(row["doomed"])),
        state=SwitchState(row["state"]),
        reason=row["reason"],
        started_at_ms=row["started_at_ms"],
        changed_at_ms=row["changed_at_ms"],
    )
