"""One SQLite connection of one thread, with the settings that the promises rest on.

Every actor and worker opens its own `Database` and gives it to its stores; they meet in the file.
"""

import threading
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final, Self

import apsw

from perlica.domain.clock import monotonic_s
from perlica.domain.errors import Misconfigured, Retryable
from perlica.stores.faults import translated
from perlica.stores.literal import TOKENIZER_NAME, make_tokenizer

Row = dict[str, Any]
"""One result row by column names."""
Bindings = Mapping[str, object] | tuple[object, ...]

BUSY_TIMEOUT_MS: Final = 5_000
TRUNCATE_TIMEOUT_MS: Final = 250
SLOW_TRANSACTION_S: Final = 0.05
"""Write transactions are to stay below this."""

# secure_delete: what is deleted is overwritten. temp_store: sorting spills no text to other files.
# trusted_schema: a manipulated schema runs no function with effects. schema_version reads the file,
# so that one that is no database is known here.
_SETTINGS: Final = """
PRAGMA foreign_keys = ON;
PRAGMA secure_delete = ON;
PRAGMA trusted_schema = OFF;
PRAGMA cell_size_check = ON;
PRAGMA recursive_triggers = ON;
PRAGMA temp_store = MEMORY;
PRAGMA schema_version;
"""
_DURABLE: Final = "PRAGMA synchronous = FULL"
# In WAL mode without fsync at commit: survives the death of the process, not a loss of power.
_RELAXED: Final = "PRAGMA synchronous = NORMAL"
_QUERY_ONLY: Final = "PRAGMA query_only = ON"
_FREE_PAGES: Final = "PRAGMA freelist_count"
_RELEASE_PAGES: Final = "PRAGMA incremental_vacuum({pages})"


@dataclass(frozen=True, slots=True, kw_only=True)
class Checkpoint:
    """What a checkpoint left: frames in the WAL, and how many of them are in the database file."""

    wal_frames: int
    moved_frames: int


def connect(path: Path, *, flags: int) -> apsw.Connection:
    """A connection with our settings and the tokenizer of the search; for this package alone.

    Raises: Misconfigured, Retryable.
    """
    with translated():
        connection = apsw.Connection(str(path), flags=flags)
        connection.set_busy_timeout(BUSY_TIMEOUT_MS)
        # Shadow tables of the index and the schema itself are closed to plain SQL.
        connection.config(apsw.SQLITE_DBCONFIG_DEFENSIVE, 1)
        # A misspelt column in double quotes is an error, not a text.
        connection.config(apsw.SQLITE_DBCONFIG_DQS_DML, 0)
        connection.config(apsw.SQLITE_DBCONFIG_DQS_DDL, 0)
        # Read to the end: some of these give a row, and what stands after it would not run.
        connection.execute(_SETTINGS).fetchall()
        connection.register_fts5_tokenizer(TOKENIZER_NAME, make_tokenizer)
    return connection


class Database:
    """A connection of the thread that opened it; use from another thread raises RuntimeError."""

    def __init__(self, connection: apsw.Connection, path: Path) -> None:
        """Use `open`."""
        self._connection = connection
        self._thread = threading.get_ident()
        self.path = path
        self.slow_transactions = 0
        self._after_commit: list[Callable[[], object]] = []

    @classmethod
    def open(cls, path: Path, *, read_only: bool = False, relaxed: bool = False) -> Self:
        """Open the migrated database at `path` for the calling thread.

        `relaxed` commits without fsync and is for `messages_in_hand` alone: its marks must survive
        a kill of the process, not a loss of power. `read_only` is for the console and for checks.

        Raises: Misconfigured when there is no database or it cannot be opened.
        """
        if not path.is_file():
            raise Misconfigured(
                "no_database",
                f"there is no database at {path}",
                remedy="look at service.state_dir; the service makes one at its first start, and"
                " `perlica restore BACKUP` brings one back",
            )
        flags = apsw.SQLITE_OPEN_READONLY if read_only else apsw.SQLITE_OPEN_READWRITE
        connection = connect(path, flags=flags)
        with translated():
            if read_only:
                connection.execute(_QUERY_ONLY)
            else:
                connection.execute(_RELAXED if relaxed else _DURABLE)
        return cls(connection, path)

    def close(self) -> None:
        """Close the connection; closing again does nothing."""
        self._check_thread()
        with translated():
            self._connection.close()

    def __enter__(self) -> Self:
        """Give the database; leaving the block closes it."""
        return self

    def __exit__(self, *_: object) -> None:
        """Close the connection."""
        self.close()

    @property
    def in_transaction(self) -> bool:
        """Whether a transaction is open."""
        return self._connection.in_transaction

    @contextmanager
    def transaction(self) -> Iterator[None]:
        """One write transaction: committed at the end of the block, rolled back on any exception.

        Raises: RuntimeError when one is open already; Retryable when the lock was not had in
        five seconds; Misconfigured when the file cannot be written.
        """
        self._check_thread()
        if self._connection.in_transaction:
            raise RuntimeError("a transaction is open already")
        with translated():
            self._connection.execute("BEGIN IMMEDIATE")
        started_s = monotonic_s()
        try:
            yield
            with translated():
                self._connection.execute("COMMIT")
        except BaseException:
            self._after_commit.clear()
            self._roll_back()
            raise
        finally:
            if monotonic_s() - started_s > SLOW_TRANSACTION_S:
                self.slow_transactions += 1
        self._do_what_waited()

    def after_commit(self, act: Callable[[], object]) -> None:
        """Do something that must not fail once the open transaction is committed; never when not.

        Raises: RuntimeError outside a transaction.
        """
        if not self._connection.in_transaction:
            raise RuntimeError("there is no transaction to wait for")
        self._after_commit.append(act)

    def _do_what_waited(self) -> None:
        acts, self._after_commit = self._after_commit, []
        for act in acts:
            act()

    def _roll_back(self) -> None:
        # SQLite has rolled back by itself after some errors, such as a full disk.
        if self._connection.in_transaction:
            with translated():
                self._connection.execute("ROLLBACK")

    def query(self, sql: str, bindings: Bindings = ()) -> list[Row]:
        """All rows of a statement. Raises: Refused, Retryable, Misconfigured (see `faults`)."""
        self._check_thread()
        with translated():
            cursor = self._connection.execute(sql, bindings)
            names = _column_names(cursor)
            return [dict(zip(names, values, strict=True)) for values in cursor]

    def query_one(self, sql: str, bindings: Bindings = ()) -> Row | None:
        """The first row of a statement, None when it has none."""
        rows = self.query(sql, bindings)
        return rows[0] if rows else None

    def stream(self, sql: str, bindings: Bindings = ()) -> Iterator[Row]:
        """Rows of a statement as they are found; a caller who stops early costs nothing more."""
        self._check_thread()
        with translated():
            cursor = self._connection.execute(sql, bindings)
            names = _column_names(cursor)
        try:
            while True:
                with translated():
                    values = cursor.fetchone()
                if values is None:
                    return
                yield dict(zip(names, values, strict=True))
        finally:
            cursor.close(force=True)

    def change(self, sql: str, bindings: Bindings = ()) -> list[Row]:
        """Run a statement that writes; the rows that its RETURNING names.

        Raises: RuntimeError outside a transaction; otherwise as `query`.
        """
        if not self._connection.in_transaction:
            raise RuntimeError("a write needs the caller's transaction")
        return self.query(sql, bindings)

    def change_each(self, sql: str, bindings: Iterable[Mapping[str, object]]) -> None:
        """Run a statement that writes once for each of the bindings, at the least cost for one.

        Raises: RuntimeError outside a transaction; otherwise as `query`.
        """
        if not self._connection.in_transaction:
            raise RuntimeError("a write needs the caller's transaction")
        self._check_thread()
        with translated():
            self._connection.executemany(sql, bindings).fetchall()

    def change_one(self, sql: str, bindings: Bindings = ()) -> Row | None:
        """The row that a write returned, None when it touched none."""
        rows = self.change(sql, bindings)
        return rows[0] if rows else None

    def checkpoint(self) -> Checkpoint:
        """Move what can be moved from the WAL into the database file; waits for nobody."""
        return self._checkpoint(apsw.SQLITE_CHECKPOINT_PASSIVE)

    def truncate_wal(self) -> bool:
        """Empty the WAL file, so that deleted text is in no file; False while a reader needs it.

        Waits for readers and writers for a quarter of a second.
        """
        self._check_thread()
        self._connection.set_busy_timeout(TRUNCATE_TIMEOUT_MS)
        try:
            return self._checkpoint(apsw.SQLITE_CHECKPOINT_TRUNCATE).wal_frames == 0
        except Retryable:
            return False
        finally:
            self._connection.set_busy_timeout(BUSY_TIMEOUT_MS)

    def free_pages(self) -> int:
        """Pages of the file that hold nothing."""
        return int(self.query(_FREE_PAGES)[0]["freelist_count"])

    def release_pages(self, pages: int) -> None:
        """Give at most `pages` free pages back to the file system, in a transaction of its own."""
        self.query(_RELEASE_PAGES.format(pages=int(pages)))

    def _checkpoint(self, mode: int) -> Checkpoint:
        self._check_thread()
        with translated():
            wal_frames, moved = self._connection.wal_checkpoint(mode=mode)
        return Checkpoint(wal_frames=wal_frames, moved_frames=moved)

    def _check_thread(self) -> None:
        if threading.get_ident() != self._thread:
            raise RuntimeError("a database connection belongs to the thread that opened it")


def _column_names(cursor: apsw.Cursor) -> list[str]:
    """The names of a statement's columns; none for one that gives no row."""
    try:
        return [column[0] for column in cursor.get_description()]
    except apsw.ExecutionCompleteError:
        return []
