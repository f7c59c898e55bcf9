"""A real database for each test that needs rows, and a second connection to it."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from perlica.stores.database import Database
from perlica.stores.migrations import check_target, migrate
from tests.stores.rows import GROUP, SELF


@pytest.fixture
def path(tmp_path: Path) -> Path:
    """A migrated database that belongs to the group."""
    file = tmp_path / "perlica.db"
    migrate(file)
    with Database.open(file) as fresh:
        check_target(fresh, GROUP, SELF)
    return file


@pytest.fixture
def db(path: Path) -> Iterator[Database]:
    """The connection that works."""
    with Database.open(path) as database:
        yield database


@pytest.fixture
def other(path: Path) -> Iterator[Database]:
    """Somebody else's connection to the same tables."""
    with Database.open(path) as database:
        yield database
