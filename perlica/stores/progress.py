"""How far commands are that run now: written by their workers, read by whoever tells members.

A row lives as long as its command runs.
"""

from dataclasses import dataclass, field
from typing import Final

from perlica.domain.clock import now_ms
from perlica.domain.ids import OperationId, TaskId
from perlica.protection import Protected
from perlica.stores.database import Database, Row
from perlica.stores.sealed import columns, restored


@dataclass(frozen=True, slots=True, kw_only=True)
class CommandProgress:
    """A row of `operation_progress`; `last_line` has no text where its scan did not finish."""

    operation: OperationId
    output_bytes: int
    last_line: Protected = field(repr=False)
    at_ms: int


_NOTE: Final = """
INSERT INTO operation_progress (operation_id, output_bytes, last_line, protection_status,
    policy_version, finding_count, at_ms)
SELECT :operation_id, :output_bytes, :last_line, :protection_status, :policy_version,
    :finding_count, :now_ms
WHERE EXISTS (SELECT 1 FROM operations WHERE id = :operation_id AND state = 'started')
ON CONFLICT (operation_id) DO UPDATE SET
    output_bytes = excluded.output_bytes,
    last_line = excluded.last_line,
    protection_status = excluded.protection_status,
    policy_version = excluded.policy_version,
    finding_count = excluded.finding_count,
    at_ms = excluded.at_ms
"""
_CLEAR: Final = "DELETE FROM operation_progress WHERE operation_id = :operation_id"
_FIND: Final = "SELECT * FROM operation_progress WHERE operation_id = :operation_id"
_OF_TASK: Final = """
SELECT progress.* FROM operation_progress AS progress
JOIN operations ON operations.id = progress.operation_id
WHERE operations.task_id = :task_id ORDER BY progress.at_ms DESC LIMIT 1
"""


class ProgressStore:
    """Reads and writes `operation_progress`."""

    def __init__(self, db: Database) -> None:
        """Work on this connection."""
        self._db = db

    def note(self, operation: OperationId, output_bytes: int, last_line: Protected) -> None:
        """Keep how far a running command is; one that has ended is passed over."""
        bindings = {
            "operation_id": operation,
            "output_bytes": output_bytes,
            "now_ms": now_ms(),
            **columns("last_line", last_line),
        }
        self._db.change(_NOTE, bindings)

    def clear(self, operation: OperationId) -> None:
        """The command has ended."""
        self._db.change(_CLEAR, {"operation_id": operation})

    def find(self, operation: OperationId) -> CommandProgress | None:
        """How far a command is, None when it said nothing yet or has ended."""
        row = self._db.query_one(_FIND, {"operation_id": operation})
        return None if row is None else _progress(row)

    def find_for_task(self, task: TaskId) -> CommandProgress | None:
        """The newest progress of a command of the task."""
        row = self._db.query_one(_OF_TASK, {"task_id": task})
        return None if row is None else _progress(row)


def _progress(row: Row) -> CommandProgress:
    return CommandProgress(
        operation=OperationId(row["operation_id"]),
        output_bytes=row["output_bytes"],
        last_line=restored(row, "last_line"),
        at_ms=row["at_ms"],
    )
