"""An image that the configuration names is an action too: proved, audited, told."""

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest

from perlica.domain.sandbox import SandboxState
from perlica.sandboxes.image import adopt_image
from perlica.stores.audit import AuditStore
from perlica.stores.database import Database
from perlica.stores.migrations import check_target, migrate
from perlica.stores.orphans import OrphanStore
from perlica.stores.sandboxes import SandboxStore
from tests.stores.rows import GROUP, IMAGE, SELF, reserve

OTHER = replace(IMAGE, digest="sha256:" + "2" * 64, revision=2)


@pytest.fixture
def database(tmp_path: Path) -> Iterator[Database]:
    path = tmp_path / "perlica.db"
    migrate(path)
    with Database.open(path) as opened:
        check_target(opened, GROUP, SELF)
        yield opened


def kinds(database: Database) -> list[str]:
    return [event.kind for event in AuditStore(database).list_events(limit=20)]


def notices(database: Database) -> list[str]:
    return [row["content"] for row in database.query("SELECT content FROM outbox_messages")]


def end(database: Database, *, leaves_orphan: bool) -> None:
    """The one sandbox is deleted; its clean-up may still be unconfirmed."""
    row = reserve(database)
    with database.transaction():
        store = SandboxStore(database)
        if leaves_orphan:
            OrphanStore(database).note(row, "unconfirmed", "no answer", failed=True)
        deleting = store.move(row.id, before=SandboxState.creating, after=SandboxState.deleting)
        store.move(deleting.id, before=SandboxState.deleting, after=SandboxState.deleted)


def test_the_first_image_replaces_nothing_and_nobody_is_told(database: Database) -> None:
    assert adopt_image(database, IMAGE) == IMAGE

    assert kinds(database) == []
    assert notices(database) == []


def test_a_configured_digest_is_audited_and_told(database: Database) -> None:
    adopt_image(database, IMAGE)

    assert adopt_image(database, OTHER) == OTHER

    assert kinds(database) == ["image.configured"]
    (notice,) = notices(database)
    assert "已按配置设为" in notice
    assert "修订 2" in notice


def test_a_configured_digest_waits_while_a_sandbox_exists_and_says_so_once(
    database: Database,
) -> None:
    reserve(database)

    for _ in range(3):
        assert adopt_image(database, OTHER) == IMAGE

    (notice,) = notices(database)
    assert "没有生效" in notice
    assert ".image" in notice
    assert kinds(database) == ["image.refused"]


def test_a_configured_digest_waits_for_a_clean_up_that_is_not_confirmed(
    database: Database,
) -> None:
    end(database, leaves_orphan=True)

    assert adopt_image(database, OTHER) == IMAGE

    assert kinds(database)[0] == "image.refused"


def test_a_configured_digest_is_taken_once_everything_is_gone(database: Database) -> None:
    end(database, leaves_orphan=False)

    assert adopt_image(database, OTHER) == OTHER


def test_a_lower_revision_takes_nothing_back(database: Database) -> None:
    adopt_image(database, OTHER)

    assert adopt_image(database, IMAGE) == OTHER
    assert notices(database) == []
