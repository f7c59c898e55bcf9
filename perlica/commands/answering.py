"""The answer to a dot command: one message and the command's end, in the caller's transaction.

Used by the coordinator's handler and by the ledger, so that what a command did, what is said of it
and that it is done are committed together or not at all.
"""

from perlica.domain.outbox import OutboxKind
from perlica.protection import Channel, protect
from perlica.stores.commands import CommandStore, StoredCommand
from perlica.stores.database import Database
from perlica.stores.messages import MessageStore
from perlica.stores.outbox import OutboxStore


def answer_command(database: Database, command: StoredCommand, text: str) -> None:
    """Mark the command done and queue its answer; an empty text is no answer.

    Raises: StaleState when it was carried out before, which rolls all of it back.
    """
    CommandStore(database).mark_done(command.message_row)
    if not text:
        return
    message = MessageStore(database).find_message(command.message_row)
    OutboxStore(database).enqueue(
        key=f"command:{command.message_row}",
        kind=OutboxKind.command,
        content=protect(text, Channel.OUTBOX),
        reply_to=message.message_id if message else None,
        at_user=command.user_id,
    )
