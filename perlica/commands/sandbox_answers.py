"""Answers to `.sbx`, `.image`, `.orphans` and `.node`: rows in, plain text out. Pure.

The text still has to pass `protect`. Names, purposes and reasons of others are clipped and escaped.
"""

import json
from collections.abc import Mapping, Sequence
from typing import Final

from perlica.commands import sandbox_texts as texts
from perlica.commands.texts import SANDBOX_STATES
from perlica.domain.errors import PerlicaError
from perlica.domain.ids import OperationId, TicketId
from perlica.domain.sandbox import MAX_SANDBOXES, HeldImage, SandboxImage, SandboxState
from perlica.domain.texts import Language, clip_line, say_duration, say_list
from perlica.domain.texts.endings import say_ending
from perlica.domain.texts.faults import say_fault
from perlica.domain.texts.sandboxes import NODE_STATES, say_output, short_digest
from perlica.sandboxes.expiry import left_ms
from perlica.stores.disk_use import DiskUse
from perlica.stores.image_switches import ImageSwitch, SwitchState
from perlica.stores.nodes import NodeRow, Observation
from perlica.stores.orphans import Orphan
from perlica.stores.progress import CommandProgress
from perlica.stores.sandboxes import SandboxOperation, SandboxRow

MAX_LISTED: Final = 8
_MIB: Final = 2**20
_SHORT_CODE_POINTS: Final = 60
_LONG_CODE_POINTS: Final = 200
_LASTING: Final = frozenset({SandboxState.ready, SandboxState.stopped, SandboxState.creating})
_TRIED: Final = frozenset({"delete_failed", "unconfirmed", "returned"})


def answer_sandboxes(
    rows: Sequence[SandboxRow], idle_ms: int, now_ms: int, language: Language
) -> str:
    """Every living sandbox on a line, with the time left until it is deleted."""
    if not rows:
        return texts.NO_SANDBOXES.say(language)
    head = texts.SANDBOXES_HEAD.say(language, count=len(rows), most=MAX_SANDBOXES)
    return "\n".join([head, *(_say_row(row, idle_ms, now_ms, language) for row in rows)])


def answer_sandbox(
    row: SandboxRow | None,
    name: str,
    *,
    disk_use: DiskUse | None,
    idle_ms: int,
    now_ms: int,
    language: Language,
) -> str:
    """All that Owners may want to know of one sandbox."""
    if row is None:
        return texts.NO_SUCH_SANDBOX.say(language, name=name)
    return texts.SANDBOX_SHOWN.say(
        language,
        name=row.name,
        state=SANDBOX_STATES[row.state].say(language),
        purpose=_purpose(row, _LONG_CODE_POINTS, language),
        node=row.node,
        revision=row.image_revision,
        digest=short_digest(row.image_digest),
        used=say_duration(now_ms - row.last_active_at_ms, language),
        left=say_duration(left_ms(row, idle_ms, now_ms), language),
        memory=row.limits.memory_bytes // _MIB,
        disk=_say_disk(row, disk_use, now_ms, language),
        cpu=row.limits.cpu_millis,
        pids=row.limits.pids,
        network=_say_network(row.network, language),
    )


def _say_disk(row: SandboxRow, use: DiskUse | None, now_ms: int, language: Language) -> str:
    """The limit, with what was used of it when the node last said so."""
    limit = row.limits.disk_bytes // _MIB
    if use is None:
        return texts.DISK_LIMIT.say(language, limit=limit)
    return texts.DISK_USED.say(
        language,
        used=-(-use.used_bytes // _MIB),
        limit=limit,
        share=100 * use.used_bytes // max(1, row.limits.disk_bytes),
        age=say_duration(now_ms - use.seen_at_ms, language),
    )


def answer_operations(
    row: SandboxRow | None,
    name: str,
    operations: Sequence[SandboxOperation],
    *,
    progress: Mapping[OperationId, CommandProgress],
    now_ms: int,
    language: Language,
) -> str:
    """What was done in a sandbox last, newest first; `progress` of those that run, by their id."""
    if row is None:
        return texts.NO_SUCH_SANDBOX.say(language, name=name)
    head = texts.OPERATIONS_HEAD.say(language, name=row.name)
    lines = [
        texts.OPERATION_LINE.say(
            language,
            age=say_duration(now_ms - operation.created_at_ms, language),
            kind=texts.KINDS[operation.kind].say(language),
            state=_say_end(operation, language),
            operation=operation.operation_id,
        )
        + _say_progress(progress.get(operation.operation_id), language)
        for operation in operations[:MAX_LISTED]
    ]
    return "\n".join([head, *(lines or [texts.NO_OPERATIONS.say(language)])])


def answer_image(
    image: SandboxImage | None,
    switch: ImageSwitch | None,
    *,
    left: int,
    others: Sequence[HeldImage],
    language: Language,
) -> str:
    """The image in force, a switch that is not through, and what else nodes hold."""
    if image is None:
        return texts.IMAGE_NONE.say(language)
    lines = [
        texts.IMAGE_SHOWN.say(
            language,
            reference=clip_line(image.reference, _SHORT_CODE_POINTS),
            digest=image.digest,
            revision=image.revision,
            introduction=clip_line(image.introduction, _LONG_CODE_POINTS),
        )
    ]
    if switch is not None:
        lines.append(_say_switch(switch, left, language))
    if others:
        images = say_list((_say_image(other, language) for other in others[:MAX_LISTED]), language)
        lines.append(texts.IMAGE_OTHERS.say(language, images=images))
    return "\n".join(lines)


def answer_orphans(orphans: Sequence[Orphan], now_ms: int, language: Language) -> str:
    """What could not be cleaned up, with the time of the next try."""
    if not orphans:
        return texts.ORPHANS_NONE.say(language)
    lines = [_say_orphan(orphan, now_ms, language) for orphan in orphans[:MAX_LISTED]]
    return "\n".join([texts.ORPHANS_HEAD.say(language), *lines])


def answer_nodes(
    nodes: Sequence[NodeRow],
    rows: Sequence[SandboxRow],
    looks: Mapping[str, Observation],
    *,
    now_ms: int,
    language: Language,
) -> str:
    """What is thought of each node and since when, and what that rests on.

    `looks` holds the newest look at each node; one that asked Kubernetes says so in its detail.
    """
    if not nodes:
        return texts.NODES_NONE.say(language)
    lines = [texts.NODES_HEAD.say(language)]
    for node in nodes[:MAX_LISTED]:
        lines.append(_say_node(node, rows, now_ms, language))
        if (look := looks.get(node.name)) is not None:
            lines.append(_say_look(look, now_ms, language))
        if evidence := _say_evidence(node, language):
            lines.append(texts.NODE_EVIDENCE.say(language, evidence=evidence))
    if not any("cluster" in look.detail for look in looks.values()):
        lines.append(texts.NODES_NO_CLUSTER.say(language))
    return "\n".join(lines)


def answer_asked(ticket: TicketId, language: Language) -> str:
    """The order waits for an approval."""
    return texts.ASKED.say(language, ticket=ticket)


def answer_refused(error: PerlicaError, language: Language) -> str:
    """Why an order is not carried out, in the group's language."""
    known = texts.REFUSALS.get(error.code)
    reason = known.say(language) if known is not None else say_fault(error.code, language)
    return texts.NOT_DONE.say(language, reason=reason)


def _say_end(operation: SandboxOperation, language: Language) -> str:
    """How far it is or how it ended; a command that failed is called failed."""
    facts = json.loads(operation.outcome.content or "{}")
    ending = say_ending(operation.state, facts if isinstance(facts, dict) else {}, language)
    return ending or texts.STATES[operation.state].say(language)


def _say_progress(progress: CommandProgress | None, language: Language) -> str:
    if progress is None:
        return ""
    return "\n  " + say_output(progress.output_bytes, progress.last_line.content, language).strip()


def _say_row(row: SandboxRow, idle_ms: int, now_ms: int, language: Language) -> str:
    state = SANDBOX_STATES[row.state].say(language)
    purpose = _purpose(row, _SHORT_CODE_POINTS, language)
    if row.state in _LASTING:
        left = say_duration(left_ms(row, idle_ms, now_ms), language)
        return texts.SANDBOX_LINE.say(
            language, name=row.name, state=state, node=row.node, left=left, purpose=purpose
        )
    reason = say_fault(row.state_reason, language) or texts.NO_REASON.say(language)
    return texts.SANDBOX_LINE_ENDING.say(
        language, name=row.name, state=state, node=row.node, reason=reason, purpose=purpose
    )


def _say_network(network: str, language: Language) -> str:
    known = texts.NETWORKS.get(network)
    return known.say(language) if known else clip_line(network, _SHORT_CODE_POINTS)


def _purpose(row: SandboxRow, limit: int, language: Language) -> str:
    return clip_line(row.purpose.content, limit) or texts.NO_PURPOSE.say(language)


def _say_switch(switch: ImageSwitch, left: int, language: Language) -> str:
    digest = short_digest(switch.digest)
    if switch.state is SwitchState.blocked:
        reason = say_fault(switch.reason, language)
        return texts.IMAGE_BLOCKED.say(language, digest=digest, reason=reason)
    return texts.IMAGE_SWITCHING.say(language, digest=digest, left=left)


def _say_image(image: HeldImage, language: Language) -> str:
    return texts.IMAGE_OTHER.say(
        language,
        digest=short_digest(image.digest),
        reference=clip_line(image.reference, _SHORT_CODE_POINTS),
    )


def _say_orphan(orphan: Orphan, now_ms: int, language: Language) -> str:
    next_try = texts.NO_NEXT_TRY.say(language)
    if orphan.cause in _TRIED:
        wait = say_duration(orphan.next_try_ms - now_ms, language)
        next_try = texts.NEXT_TRY.say(language, wait=wait)
    return texts.ORPHAN_LINE.say(
        language,
        number=orphan.id,
        name=clip_line(orphan.name, _SHORT_CODE_POINTS),
        node=orphan.node,
        cause=texts.CAUSES[orphan.cause].say(language),
        attempts=orphan.attempts,
        next=next_try,
        reason=say_fault(orphan.reason, language) or texts.NO_REASON.say(language),
    )


def _say_node(node: NodeRow, rows: Sequence[SandboxRow], now_ms: int, language: Language) -> str:
    seen = texts.NODE_NEVER_SEEN.say(language)
    if node.seen_at_ms is not None:
        seen = texts.NODE_SEEN.say(language, ago=say_duration(now_ms - node.seen_at_ms, language))
    return texts.NODE_LINE.say(
        language,
        node=node.name,
        state=NODE_STATES[node.state].say(language),
        since=say_duration(now_ms - node.since_ms, language),
        count=sum(row.node == node.name for row in rows),
        seen=seen,
    )


def _say_look(look: Observation, now_ms: int, language: Language) -> str:
    answered = look.finding == "answered"
    return texts.NODE_LOOK.say(
        language,
        finding=texts.NODE_ANSWERED.say(language)
        if answered
        else say_fault(look.finding, language),
        looks=look.looks,
        ago=say_duration(now_ms - look.last_at_ms, language),
    )


def _say_evidence(node: NodeRow, language: Language) -> str:
    """What the verdict rests on; nothing while the node is alive."""
    said = (
        words.say(language, value=clip_line(str(node.evidence[key]), _SHORT_CODE_POINTS))
        for key, words in texts.NODE_EVIDENCE_WORDS.items()
        if node.evidence.get(key)
    )
    return say_list(said, language)
