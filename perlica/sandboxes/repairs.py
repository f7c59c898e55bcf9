"""What two looks at a node prove, written down: lost, gone, left over.

Called by the node watch inside one transaction for each node; whatever is not certain is only
reported (audit, orphan, a line to the group).
"""

import json
from collections.abc import Mapping
from dataclasses import dataclass

from perlica.domain.operation import OperationState
from perlica.domain.outbox import OutboxKind
from perlica.domain.sandbox import BackendSandbox, SandboxState
from perlica.domain.texts import Language
from perlica.domain.texts.sandboxes import say_lost, say_other_image
from perlica.protection import Channel, JsonValue, Protected, protect
from perlica.sandboxes.inventory import Difference, Finding
from perlica.sandboxes.transitions import confirm_absence
from perlica.stores.audit import AuditStore
from perlica.stores.database import Database
from perlica.stores.operations import OperationStore
from perlica.stores.orphans import OrphanStore
from perlica.stores.outbox import OutboxStore
from perlica.stores.sandboxes import SandboxRow, SandboxStore

_REMNANTS = frozenset({"returned", "unknown", "delete_failed"})


@dataclass(frozen=True, slots=True)
class Repairs:
    """Over the keeper's connection; every function works in the caller's transaction."""

    database: Database
    language: Language

    def apply(self, node: str, finding: Finding) -> None:
        """Write down what a difference that two looks showed means."""
        match finding.difference:
            case Difference.missing:
                self._lose_missing(node, finding)
            case Difference.gone:
                self._confirm(node, finding)
            case Difference.stray:
                self._keep_stray(node, finding)
            case Difference.unnamed:
                self._name(finding)
            case Difference.other_image:
                self._report_other_image(node, finding)

    def lose(self, row: SandboxRow, reason: str, evidence: Mapping[str, JsonValue]) -> None:
        """Mark a sandbox lost, with what proves it; its name waits for its node to come back."""
        SandboxStore(self.database).move(
            row.id, before=row.state, after=SandboxState.lost, reason=reason
        )
        self._audit(
            "sandbox.lost",
            {
                "sandbox": row.name,
                "instance": row.instance,
                "node": row.node,
                "reason": reason,
                "evidence": dict(evidence),
            },
        )
        text = say_lost(row.name, row.node, reason, self.language)
        self._tell(f"lost:{row.id}", text)

    def _lose_missing(self, node: str, finding: Finding) -> None:
        row = self._row(finding)
        if row is None or row.state not in {SandboxState.ready, SandboxState.stopped}:
            return
        self.lose(row, "missing_on_node", {"node": node, "looks": 2})
        # The node itself says that nothing is there: the clean-up is confirmed.
        OrphanStore(self.database).clear(row.id)

    def _confirm(self, node: str, finding: Finding) -> None:
        row = self._row(finding)
        if row is None or row.state not in {
            SandboxState.unconfirmed,
            SandboxState.lost,
            SandboxState.deleted,
        }:
            return
        confirm_absence(self.database, row)
        self._audit(
            "sandbox.absence_confirmed",
            {"sandbox": row.name, "instance": row.instance, "node": node, "looks": 2},
        )

    def _keep_stray(self, node: str, finding: Finding) -> None:
        """A remnant of a sandbox that ended is cleaned; what was never ours is only reported."""
        found = finding.found
        if found is None:
            return
        orphans = OrphanStore(self.database)
        row = SandboxStore(self.database).find_instance(node, found.instance)
        if row is None:
            row = self._adopt(node, found)
            orphans.note(row, "unknown", "found on its node", failed=False)
        elif row.slot is not None:
            return
        else:
            known = orphans.find_for(row.id)
            if known is not None and known.cause in _REMNANTS:
                return
            orphans.note(row, "returned", "found on its node", failed=False)
        self._audit(
            "sandbox.stray",
            {"sandbox": found.name, "instance": found.instance, "node": node},
        )

    def _adopt(self, node: str, found: BackendSandbox) -> SandboxRow:
        purpose = protect("", Channel.MESSAGE)
        return SandboxStore(self.database).adopt_unknown(node, found, purpose)

    def _name(self, finding: Finding) -> None:
        """A creation whose outcome nobody knows did make a sandbox: it can be cleaned up now."""
        row = self._row(finding)
        if row is None or row.state is not SandboxState.unconfirmed or self._may_be_settled(row):
            return
        named = SandboxStore(self.database).move(
            row.id, before=row.state, after=row.state, instance=finding.instance
        )
        OrphanStore(self.database).note(named, "unconfirmed", "made all the same", failed=False)

    def _may_be_settled(self, row: SandboxRow) -> bool:
        """Whether asking for the operation can still tell how the creation ended."""
        operations = OperationStore(self.database)
        for unknown in SandboxStore(self.database).list_unknown(row.id):
            operation = operations.find(unknown.operation_id)
            if operation is None or operation.state is not OperationState.unknown:
                continue
            if json.loads(operation.outcome.content or "{}").get("reason") != "interrupted":
                return True
        return False

    def _report_other_image(self, node: str, finding: Finding) -> None:
        row = self._row(finding)
        if row is None:
            return
        key = f"other-image:{row.id}"
        if self._tell(key, say_other_image(row.name, node, self.language)):
            found = finding.found.image_digest if finding.found else ""
            self._audit(
                "sandbox.other_image",
                {"sandbox": row.name, "node": node, "booked": row.image_digest, "found": found},
            )

    # --- small things -----------------------------------------------------------------------

    def _row(self, finding: Finding) -> SandboxRow | None:
        if finding.sandbox is None:
            return None
        return SandboxStore(self.database).find(finding.sandbox)

    def _tell(self, key: str, text: str) -> bool:
        rows = OutboxStore(self.database).enqueue(
            key=key, kind=OutboxKind.notice, content=protect(text, Channel.OUTBOX)
        )
        return bool(rows)

    def _audit(self, kind: str, facts: dict[str, JsonValue]) -> None:
        AuditStore(self.database).add_event(kind, actor="reconciler", detail=_sealed(facts))


def _sealed(facts: dict[str, JsonValue]) -> Protected:
    detail = protect(facts, Channel.AUDIT)
    return detail if detail.content else protect({}, Channel.AUDIT)
