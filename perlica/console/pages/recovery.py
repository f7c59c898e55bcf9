"""What waits for an Owner or an operator: unknown outcomes, orphans, bad messages."""

from dataclasses import dataclass

from perlica.console.pages.context import PAGE_ROWS, Page, PageContext
from perlica.console.pages.outbox import send_lines
from perlica.console.pages.pieces import Link, operation_link, task_link
from perlica.console.pages.sandboxes import orphan_lines
from perlica.console.pages.timeline import outcome_of
from perlica.console.wording import Badge, Moment, Wording
from perlica.stores.views.nodes import list_orphans
from perlica.stores.views.operations import OperationView, list_unknown
from perlica.stores.views.outbox import SendFilter, list_sends
from perlica.stores.views.overview import CrashedMessage, count_quarantined, list_crashed


@dataclass(frozen=True, slots=True, kw_only=True)
class UnknownLine:
    """An operation whose outcome is not known."""

    operation: Link
    action: str
    level: Badge
    reason: str
    task: Link | None
    created: Moment
    age: str


@dataclass(frozen=True, slots=True, kw_only=True)
class CrashedLine:
    """A message that was in hand at crashes."""

    message: str
    crashes: int
    marked: Moment


def show_recovery(context: PageContext) -> Page:
    """/recovery: everything that does not settle itself."""
    database, wording = context.database, context.wording
    unknown = list_unknown(database)
    sends = list_sends(database, SendFilter.unknown, limit=PAGE_ROWS)
    orphans = list_orphans(database)
    crashed, quarantined = list_crashed(database), count_quarantined(database)
    return Page(
        title=wording.say("nav.recovery"),
        template="recovery",
        fields={
            "operations": tuple(_unknown(operation, wording) for operation in unknown),
            "sends": send_lines(sends, wording),
            "orphans": orphan_lines(orphans, wording),
            "crashed": tuple(_crashed(message, wording) for message in crashed),
            "quarantined": wording.say("recovery.quarantined", count=quarantined)
            if quarantined
            else "",
            "is_empty": not (unknown or sends or orphans or crashed or quarantined),
        },
    )


def _unknown(operation: OperationView, wording: Wording) -> UnknownLine:
    return UnknownLine(
        operation=operation_link(operation.id),
        action=wording.action(operation.action),
        level=wording.badge("level", operation.level),
        reason=wording.reason(str(outcome_of(operation).get("reason", ""))),
        task=task_link(operation.task_id) if operation.task_id else None,
        created=wording.moment(operation.created_at_ms),
        age=wording.duration(wording.now_ms - operation.created_at_ms),
    )


def _crashed(message: CrashedMessage, wording: Wording) -> CrashedLine:
    return CrashedLine(
        message=str(message.message_id),
        crashes=message.crashes,
        marked=wording.moment(message.marked_at_ms),
    )
