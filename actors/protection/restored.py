"""After a restore: what was sent in the group before it is talk only.

The rows of those messages may be lost, so they come again out of the group's history as if they
were new. Intake asks here before it makes a task or a command of a message; what was left undone is
told in one line, once nothing more waits.
"""

from typing import Final

from actors.protection.items import Prepared
from perlica.domain.clock import now_ms
from perlica.domain.outbox import OutboxKind
from perlica.domain.texts import Language
from perlica.domain.texts.notices import say_left_undone
from perlica.protection import Channel, protect
from perlica.stores.audit import AuditStore
from perlica.stores.database import Database
from perlica.stores.old_time import RESTORED_AT_KEY, RESTORED_UNREAD_KEY
from perlica.stores.outbox import OutboxStore
from perlica.stores.service import ServiceStore

_UNDONE_COMMANDS: Final = "restored_undone_commands"
_UNDONE_REQUESTS: Final = "restored_undone_requests"
_CLOCK_WRONG_MS: Final = 900_000
"""A restore that lies further ahead was dated by a clock that has been put back since."""


def leave_undone(database: Database, item: Prepared) -> bool:
    """Whether a command or request is of the time before the restore; it is counted then.

    In the transaction that stores the message. Right after a restore everything that comes out of
    the history is of that time, whatever its date says.
    """
    if item.command is None and item.kind != "trigger":
        return False
    service = ServiceStore(database)
    if not _is_old(service, item):
        return False
    key = _UNDONE_REQUESTS if item.command is None else _UNDONE_COMMANDS
    service.set(key, str(int(service.find(key) or 0) + 1))
    return True


def announce_undone(database: Database, language: Language) -> bool:
    """Once all that waits is taken in: one line and one audit event; whether there was anything."""
    service = ServiceStore(database)
    commands = int(service.find(_UNDONE_COMMANDS) or 0)
    requests = int(service.find(_UNDONE_REQUESTS) or 0)
    if not commands and not requests:
        return False
    text = say_left_undone(commands=commands, requests=requests, language=language)
    facts = {"commands": commands, "requests": requests}
    with database.transaction():
        service.set(_UNDONE_COMMANDS, "0")
        service.set(_UNDONE_REQUESTS, "0")
        AuditStore(database).add_event(
            "restored.left_undone", actor="intake", detail=protect({**facts}, Channel.AUDIT)
        )
        OutboxStore(database).enqueue(
            key=f"restored:{service.find(RESTORED_AT_KEY)}:{now_ms()}",
            kind=OutboxKind.notice,
            content=protect(text, Channel.OUTBOX),
        )
    return True


def _is_old(service: ServiceStore, item: Prepared) -> bool:
    restored_at = service.find(RESTORED_AT_KEY)
    if restored_at is None:
        return False
    if item.message.from_history and service.find(RESTORED_UNREAD_KEY):
        return True
    is_dated_wrong = int(restored_at) > now_ms() + _CLOCK_WRONG_MS
    return not is_dated_wrong and item.message.sent_at_ms <= int(restored_at)
