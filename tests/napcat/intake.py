"""Intake alone, over a database of its own: Ming is an Owner, Ming and Hong are members."""

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from actors.protection.intake import Intake, IntakeSettings
from perlica.domain.ids import GroupId, UserId
from perlica.domain.texts import Language
from perlica.stores.database import Database
from perlica.stores.migrations import check_target, migrate
from tests.napcat.rig import BOT, HONG, MING, OUR_GROUP


@contextmanager
def open_intake(path: Path) -> Iterator[Intake]:
    """An intake whose connections are closed with the block."""
    migrate(path)
    with Database.open(path) as database, Database.open(path, relaxed=True) as marks:
        check_target(database, OUR_GROUP, BOT)
        yield Intake(
            database,
            marks,
            IntakeSettings(
                group_id=GroupId(OUR_GROUP),
                self_id=UserId(BOT),
                owners=frozenset({UserId(MING)}),
                members=frozenset({UserId(MING), UserId(HONG)}),
                language=Language.zh,
                trigger_code_points=24_000,
                fresh_within_ms=120_000,
                busy_every_ms=10_000,
                receipt_emoji_id=76,
                policy_version="1",
                context_version="1",
            ),
        )
