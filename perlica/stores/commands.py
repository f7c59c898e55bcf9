"""Dot commands as intake parsed them; the coordinator carries them out and marks them done."""

import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Final, Literal

from perlica.domain.clock import now_ms
from perlica.domain.errors import StaleState
from perlica.domain.ids import RowId, UserId
from perlica.protection import Protected
from perlica.stores.database import Database, Row
from perlica.stores.sealed import require_usable

CommandState = Literal["pending", "done"]


@dataclass(frozen=True, slots=True, kw_only=True)
class StoredCommand:
    """A row of `commands`; `message_row` is the message that a member wrote."""

    message_row: RowId
    user_id: UserId
    name: str
    arguments: Mapping[str, str] = field(repr=False)
    state: CommandState
    created_at_ms: int


_INSERT: Final = """
INSERT INTO commands (message_row, user_id, name, arguments, state, created_at_ms)
VALUES (:message_row, :user_id, :name, :arguments, 'pending', :created_at_ms)
"""
_PENDING: Final = "SELECT * FROM commands WHERE state = 'pending' ORDER BY message_row"
_FIND: Final = "SELECT * FROM commands WHERE message_row = :message_row"
_MARK_DONE: Final = """
UPDATE commands SET state = 'done' WHERE message_row = :message_row AND state = 'pending'
RETURNING message_row
"""


class CommandStore:
    """Reads and writes `commands`."""

    def __init__(self, db: Database) -> None:
        """Work on this connection."""
        self._db = db

    def insert_command(
        self,
        row: RowId,
        user_id: UserId,
        name: str,
        arguments: Mapping[str, str | Protected],
    ) -> None:
        """Keep a command as pending.

        A plain `str` is a word of the strict grammar (an id, a name, a code's digest); free text of
        a member comes as `Protected`.

        Raises: Refused when free text could not be scanned.
        """
        words = {
            key: require_usable(value).content if isinstance(value, Protected) else value
            for key, value in arguments.items()
        }
        self._db.change(
            _INSERT,
            {
                "message_row": row,
                "user_id": user_id,
                "name": name,
                "arguments": json.dumps(words, ensure_ascii=False),
                "created_at_ms": now_ms(),
            },
        )

    def take_pending(self) -> tuple[StoredCommand, ...]:
        """The commands that wait, oldest first; they wait until they are marked done."""
        return tuple(_command(row) for row in self._db.query(_PENDING))

    def find(self, row: RowId) -> StoredCommand | None:
        """The command of a message."""
        found = self._db.query_one(_FIND, {"message_row": row})
        return None if found is None else _command(found)

    def mark_done(self, row: RowId) -> None:
        """Say that the command was carried out. Raises: StaleState when it was already."""
        if self._db.change_one(_MARK_DONE, {"message_row": row}) is None:
            raise StaleState("command_done", f"command {row} is not pending")


def _command(row: Row) -> StoredCommand:
    return StoredCommand(
        message_row=RowId(row["message_row"]),
        user_id=UserId(row["user_id"]),
        name=row["name"],
        arguments=json.loads(row["arguments"]),
        state=row["state"],
        created_at_ms=row["created_at_ms"],
    )
