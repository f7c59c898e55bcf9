"""Looks at nodes turned into rows: observations, verdicts, and what they mean for sandboxes.

The reconciler takes looks in threads of their own and hands each to `take`; the rule is
`node_loss`, the comparison of books and node is `inventory`.
"""

import logging
from collections.abc import Mapping
from dataclasses import dataclass, field

from perlica.domain.clock import monotonic_s
from perlica.domain.ids import RowId
from perlica.domain.node import GIVEN_UP, LossRule, NodeState
from perlica.domain.outbox import OutboxKind
from perlica.domain.sandbox import NodeSurvey
from perlica.domain.texts import Language
from perlica.domain.texts.sandboxes import say_node
from perlica.protection import Channel, JsonValue, protect
from perlica.sandboxes.inventory import Books, Finding, compare
from perlica.sandboxes.node_loss import (
    Channel as NodeChannel,
)
from perlica.sandboxes.node_loss import (
    ClusterFault,
    ClusterReading,
    Reading,
    Watch,
    advance,
    judge,
)
from perlica.sandboxes.repairs import Repairs
from perlica.stores.audit import AuditStore
from perlica.stores.database import Database
from perlica.stores.disk_use import DiskUseStore
from perlica.stores.nodes import NodeRow, NodeStore
from perlica.stores.orphans import OrphanStore
from perlica.stores.outbox import OutboxStore
from perlica.stores.sandboxes import SandboxStore

_log = logging.getLogger(__name__)

_LOUD = frozenset({*GIVEN_UP, NodeState.absent})
_IDENTITY = ("uid", "machine_id", "system_uuid", "daemon")


@dataclass(frozen=True, slots=True, kw_only=True)
class Look:
    """One look: the survey, or the code of the fault; `at_s` is monotonic, at its beginning."""

    node: str
    at_s: float
    survey: NodeSurvey | None
    fault: str = ""
    cluster: ClusterReading | ClusterFault | None = None


@dataclass(frozen=True, slots=True)
class _Comparison:
    """What books and node differed in, which rows stood in the books, and when they were read."""

    findings: frozenset[Finding] = frozenset()
    settled: frozenset[RowId] = frozenset()
    orphaned: frozenset[str] = frozenset()
    read_s: float = 0.0


@dataclass(slots=True, kw_only=True)
class NodeWatcher:
    """Remembers earlier looks; everything that must last is in the tables."""

    database: Database
    rule: LossRule
    language: Language
    _watches: dict[str, Watch] = field(default_factory=dict)
    _answered_s: dict[str, float] = field(default_factory=dict)
    _compared: dict[str, _Comparison] = field(default_factory=dict)

    def take(self, look: Look) -> NodeState:
        """Write down a look and what follows from it; the node's state afterwards."""
        if look.survey is not None:
            self._answered_s[look.node] = look.at_s
        watch = advance(self._watch_of(look.node), self._reading_of(look), self.rule)
        verdict = judge(watch, self.rule)
        with self.database.transaction():
            state = self._record(look, watch, verdict)
            self._watches[look.node] = watch
            if look.survey is not None:
                self._compare(look.node, look.survey, look.at_s)
                if verdict is NodeState.absent:
                    # Installed anew: from here on it is known by what it is now.
                    self._watches[look.node] = advance(Watch(), self._reading_of(look), self.rule)
        return state

    def _reading_of(self, look: Look) -> Reading:
        identity = look.survey.identity if look.survey is not None else ""
        return Reading(
            at_s=look.at_s,
            channel=NodeChannel(fault=look.fault, identity=identity),
            is_controlled=any(
                look.at_s - answered_s <= self.rule.longest_gap_s
                for node, answered_s in self._answered_s.items()
                if node != look.node
            ),
            cluster=look.cluster,
        )

    def _watch_of(self, node: str) -> Watch:
        """What earlier looks say; after a restart only who the node was, from its row."""
        known = self._watches.get(node)
        if known is not None:
            return known
        row = NodeStore(self.database).find(node)
        identity = tuple(str(row.identity.get(key, "")) for key in _IDENTITY) if row else ()
        return Watch(known=identity if any(identity) else ())

    # --- rows -------------------------------------------------------------------------------

    def _record(self, look: Look, watch: Watch, verdict: NodeState) -> NodeState:
        nodes = NodeStore(self.database)
        before = nodes.find(look.node)
        nodes.add_look(look.node, look.fault or "answered", _detail_of(look))
        state = verdict
        if before is not None and before.state is NodeState.written_off and look.survey is None:
            state = NodeState.written_off
        evidence = before.evidence if before and state is NodeState.written_off else None
        nodes.set_state(
            look.node,
            state,
            identity=dict(zip(_IDENTITY, watch.known, strict=False)),
            evidence=watch.evidence() if evidence is None else evidence,
        )
        if look.survey is not None:
            nodes.note_seen(look.node, look.survey.images)
            DiskUseStore(self.database).note(look.node, look.survey.sandboxes)
        self._tell_change(before, look.node, state, watch.evidence())
        return state

    def _tell_change(
        self,
        before: NodeRow | None,
        node: str,
        state: NodeState,
        evidence: Mapping[str, JsonValue],
    ) -> None:
        """Audit a change of state, and tell the group of those that matter."""
        was = before.state if before is not None else NodeState.alive
        if state is was:
            return
        facts: dict[str, JsonValue] = {
            "node": node,
            "before": was.value,
            "after": state.value,
            "evidence": dict(evidence),
        }
        detail = protect(facts, Channel.AUDIT)
        event = AuditStore(self.database).add_event(
            "node.state",
            actor="reconciler",
            detail=detail if detail.content else protect({}, Channel.AUDIT),
        )
        _log.info("node", extra={"node": node, "before": was.value, "after": state.value})
        if state in _LOUD or (state is NodeState.alive and was is not NodeState.observed):
            text = say_node(node, state, self.language)
            OutboxStore(self.database).enqueue(
                key=f"node:{node}:{event}",
                kind=OutboxKind.notice,
                content=protect(text, Channel.OUTBOX),
            )
        if state is NodeState.absent:
            self._lose_all(node, evidence)

    def _lose_all(self, node: str, evidence: Mapping[str, JsonValue]) -> None:
        repairs = Repairs(self.database, self.language)
        for row in SandboxStore(self.database).list_living():
            if row.node == node:
                repairs.lose(row, "node_absent", evidence)

    def _compare(self, node: str, survey: NodeSurvey, at_s: float) -> None:
        """Act on what this look and the one before it both show.

        A look may be older than a job that ended meanwhile. So one that began before the books were
        last read says nothing, what lacks a sandbox counts only when that sandbox was settled in
        the books before the look began, and a remnant does not when its orphan was closed since.
        """
        before = self._compared.get(node, _Comparison())
        if at_s <= before.read_s:
            return
        sandboxes = SandboxStore(self.database)
        books = Books(
            living=[row for row in sandboxes.list_living() if row.node == node],
            orphans=[o for o in OrphanStore(self.database).list_open() if o.node == node],
            is_in_motion=sandboxes.has_open_lifecycle,
        )
        orphaned = frozenset(orphan.instance for orphan in books.orphans)
        closed_since = before.orphaned - orphaned
        findings = frozenset(
            finding
            for finding in compare(books, survey.sandboxes)
            if finding.sandbox in before.settled
            or (finding.sandbox is None and finding.instance not in closed_since)
        )
        settled = {row.id for row in books.living if not books.is_in_motion(row.id)}
        settled |= {orphan.sandbox_id for orphan in books.orphans}
        self._compared[node] = _Comparison(
            findings=findings,
            settled=frozenset(settled),
            orphaned=orphaned,
            read_s=monotonic_s(),
        )
        repairs = Repairs(self.database, self.language)
        for finding in findings:
            if finding in before.findings:
                repairs.apply(node, finding)


def _detail_of(look: Look) -> dict[str, JsonValue]:
    """Every datum of a look: ids, times, counts."""
    detail: dict[str, JsonValue] = {}
    if look.survey is not None:
        detail["sandboxes"] = len(look.survey.sandboxes)
        detail["identity"] = look.survey.identity
    match look.cluster:
        case ClusterFault(code=code):
            detail["cluster"] = code
        case ClusterReading(node=node, control_renewed=control):
            detail["control_renewed"] = control
            if node is None:
                detail["cluster"] = "not_found"
            else:
                detail |= {
                    "cluster": node.ready,
                    "uid": node.uid,
                    "machine_id": node.machine_id,
                    "system_uuid": node.system_uuid,
                    "renewed": node.renewed,
                    "out_of_service": node.is_out_of_service,
                }
        case None:
            pass
    return detail
