"""A policy or context that changed between two starts is an action of an operator: audited, told.

Called at the start, before the actors; a first start has nothing to compare with.
"""

import hashlib

from perlica.app.config import Config
from perlica.domain.outbox import OutboxKind
from perlica.domain.policy import Policy
from perlica.domain.texts.notices import say_rules_changed
from perlica.protection import Channel, protect
from perlica.stores.audit import AuditStore
from perlica.stores.database import Database
from perlica.stores.outbox import OutboxStore
from perlica.stores.service import ServiceStore

_DIGITS = 12


def context_version(config: Config) -> str:
    """The version of the context with a hash of its text: other text is another version."""
    digest = hashlib.sha256(config.context.text.encode()).hexdigest()
    return f"{config.context.version}#{digest[:_DIGITS]}"


def note_rules(database: Database, config: Config, policy: Policy) -> None:
    """Compare with the last start; one audit event and one line for each that differs."""
    _note(database, config, "policy", policy.version)
    _note(database, config, "context", context_version(config))


def _note(database: Database, config: Config, what: str, version: str) -> None:
    key = f"{what}_in_force"
    before = ServiceStore(database).find(key)
    if before == version:
        return
    with database.transaction():
        ServiceStore(database).set(key, version)
        if before is None:
            return
        AuditStore(database).add_event(
            f"{what}.changed",
            actor="operator",
            detail=protect({"before": before, "after": version}, Channel.AUDIT),
        )
        text = say_rules_changed(what, before, version, config.service.language)
        number = ServiceStore(database).find(f"{key}_changes") or "0"
        ServiceStore(database).set(f"{key}_changes", str(int(number) + 1))
        OutboxStore(database).enqueue(
            key=f"{what}-changed:{number}:{version}",
            kind=OutboxKind.notice,
            content=protect(text, Channel.OUTBOX),
        )
