"""A real database for each test that needs rows."""

from pathlib import Path

import pytest

from perlica.stores.database import Database
from perlica.stores.migrations import check_target, migrate
from tests.session.words import GROUP, SELF


@pytest.fixture
def path(tmp_path: Path) -> Path:
    """A migrated database that belongs to the group."""
    file = tmp_path / "state" / "perlica.sqlite3"
    migrate(file)
    with Database.open(file) as fresh:
        check_target(fresh, GROUP, SELF)
    return file
