"""The console's own database connections: read-only, one for each of its threads.

A page reads one moment of the database. The connection opens at a thread's first page, and again
when the file was replaced; the thread closes it at its end.
"""

import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from perlica.domain.errors import Misconfigured
from perlica.stores.database import Database
from perlica.stores.views.overview import snapshot


class Reader:
    """Gives each thread its own connection."""

    def __init__(self, path: Path) -> None:
        """Nothing is opened before it is needed."""
        self._path = path
        self._own = threading.local()

    @contextmanager
    def moment(self) -> Iterator[Database]:
        """The database as it is now, for the length of the block.

        Raises: Misconfigured when there is none or it is damaged, Retryable when it is locked.
        """
        database = self._database()
        with snapshot(database):
            yield database

    def close(self) -> None:
        """Close the calling thread's connection."""
        database: Database | None = getattr(self._own, "database", None)
        if database is not None:
            self._own.database = None
            database.close()

    def _database(self) -> Database:
        identity = self._identity()
        if getattr(self._own, "identity", None) != identity:
            self.close()
        database: Database | None = getattr(self._own, "database", None)
        if database is None:
            database = Database.open(self._path, read_only=True)
            self._own.database, self._own.identity = database, identity
        return database

    def _identity(self) -> tuple[int, int]:
        """Which file it is: a restore puts another one in its place."""
        try:
            status = self._path.stat()
        except OSError as error:
            raise Misconfigured("no_database", f"there is no database at {self._path}") from error
        return status.st_dev, status.st_ino
