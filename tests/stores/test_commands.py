"""Dot commands wait until they are carried out, each once."""

import pytest

from perlica.domain.errors import Refused, StaleState
from perlica.protection import not_scanned
from perlica.stores.commands import CommandStore
from perlica.stores.database import Database
from tests.stores.rows import OWNER, sealed, stored


def test_a_command_waits_until_it_is_done(db: Database) -> None:
    commands = CommandStore(db)
    rows = [stored(db, f".status {n}", kind="control") for n in range(2)]
    with db.transaction():
        for row in rows:
            commands.insert_command(row, OWNER, "deny", {"ticket": "K7Q2M"})
        commands.mark_done(rows[0])

    (waiting,) = commands.take_pending()

    assert waiting.message_row == rows[1]
    assert (waiting.name, dict(waiting.arguments)) == ("deny", {"ticket": "K7Q2M"})
    done = commands.find(rows[0])
    assert done is not None
    assert done.state == "done"


def test_a_command_is_carried_out_once(db: Database) -> None:
    commands = CommandStore(db)
    row = stored(db, ".status", kind="control")
    with db.transaction():
        commands.insert_command(row, OWNER, "status", {})
        commands.mark_done(row)

    with pytest.raises(StaleState), db.transaction():
        commands.mark_done(row)


def test_free_text_of_a_command_comes_protected(db: Database) -> None:
    commands = CommandStore(db)
    row = stored(db, ".recovery", kind="control")
    with db.transaction():
        commands.insert_command(row, OWNER, "recovery", {"reason": sealed("手工看过")})

    command = commands.find(row)

    assert command is not None
    assert command.arguments == {"reason": "手工看过"}


def test_free_text_that_could_not_be_scanned_is_refused(db: Database) -> None:
    row = stored(db, ".recovery", kind="control")

    with pytest.raises(Refused, match="scan_incomplete"), db.transaction():
        CommandStore(db).insert_command(row, OWNER, "recovery", {"reason": not_scanned()})
