"""What follows the end of an operation whose task has ended before it: word and tidying.

While the task lives its session does both: the result goes into the transcript, and is then
acknowledged. Called by the worker that wrote the end down.
"""

import json
import logging

from perlica.domain.actions import ActionCatalog
from perlica.domain.errors import PerlicaError
from perlica.domain.operation import OperationState
from perlica.domain.outbox import OutboxKind
from perlica.domain.plan import Level
from perlica.domain.ports import SandboxJob
from perlica.domain.task import FINAL_STATES
from perlica.domain.texts import Language
from perlica.domain.texts.endings import say_ending
from perlica.domain.texts.notices import say_late_ending
from perlica.protection import Channel, protect
from perlica.sandboxes.nodes import Nodes
from perlica.stores.database import Database
from perlica.stores.operations import Operation, OperationStore
from perlica.stores.outbox import OutboxStore
from perlica.stores.tasks import TaskStore

_log = logging.getLogger(__name__)
_STILL_OPEN = frozenset({OperationState.queued, OperationState.started, OperationState.unknown})
_NO_NEWS = frozenset({OperationState.unknown, OperationState.cancelled})
"""Told otherwise, or with the task's own end: what is being stopped is stopped."""


def acknowledge_unread(database: Database, nodes: Nodes, job: SandboxJob) -> None:
    """Let the backend drop an output that nobody will read; what it still holds it bounds."""
    ended = OperationStore(database).find(job.operation)
    if ended is None or ended.state in _STILL_OPEN or _is_awaited(database, ended):
        return
    try:
        nodes.of(job.node).acknowledge(job.operation)
    except PerlicaError as error:
        _log.info("not acknowledged", extra={"operation": job.operation, "code": error.code})


def tell_if_nobody_waits(
    database: Database, ended: Operation, language: Language, actions: ActionCatalog
) -> None:
    """The group heard of the task's end before; what it then read as going on has ended now.

    Runs in the caller's transaction.
    """
    if ended.task_id is None or ended.level is Level.low:
        return
    if ended.state in _NO_NEWS or _is_awaited(database, ended):
        return
    facts = json.loads(ended.outcome.content or "{}")
    ending = say_ending(ended.state, facts, language)
    text = say_late_ending(
        ended.id, actions.label(ended.action, language), ended.state, language, ending=ending
    )
    OutboxStore(database).enqueue(
        key=f"late:{ended.id}:{ended.state}",
        kind=OutboxKind.notice,
        content=protect(text, Channel.OUTBOX),
        task_id=ended.task_id,
    )


def _is_awaited(database: Database, operation: Operation) -> bool:
    """Whether its task still lives; an operation without a task is awaited by nobody."""
    if operation.task_id is None:
        return False
    task = TaskStore(database).find_task(operation.task_id)
    return task is None or task.state not in FINAL_STATES
