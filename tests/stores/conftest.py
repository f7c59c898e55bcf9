"""A real database for each test, in a folder of its own."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from perlica.stores.database import Database
from perlica.stores.migrations import check_target, migrate
from tests.stores.rows import GROUP, SELF


@pytest.fixture
def path(tmp_path: Path) -> Path:
    """A migrated database that belongs to the group."""
    file = tmp_path / "state" / "perlica.sqlite3"
    migrate(file)
    with Database.open(file) as fresh:
        check_target(fresh, GROUP, SELF)
    return file


@pytest.fixture
def db(path: Path) -> Iterator[Database]:
    with Database.open(path) as opened:
        yield opened


@pytest.fixture
def other(path: Path) -> Iterator[Database]:
    """A second connection, as another actor has it."""
    with Database.open(path) as opened:
        yield opened
