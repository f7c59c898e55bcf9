"""Followers: each row of a table is given out once, when it has settled.

Counters count from here. Retention deletes old rows, so a count of what a table holds would go
down; what was given out stays counted, and a counter starts at zero with the process, as
Prometheus expects.
"""

import json
from dataclasses import dataclass
from typing import Final

from perlica.stores.database import Database, Row

MAX_ROWS: Final = 2_000
"""Rows that one look gives out; a flood is counted over several looks."""
MAX_OPEN: Final = 2_000
"""Unsettled rows that are remembered; the oldest are forgotten and never counted."""
NEVER: Final = "0"
"""For `open_while`: rows of this table do not change any more."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Followed:
    """A table, the columns that are wanted, and while what condition a row has not settled.

    `index` is the partial index of exactly that condition: SQLite alone would not always take it.
    """

    table: str
    columns: str
    open_while: str = NEVER
    index: str = ""

    @property
    def newest_sql(self) -> str:
        """The last row number."""
        return f"SELECT coalesce(max(rowid), 0) AS row FROM {self.table}"  # noqa: S608 - constants

    @property
    def open_sql(self) -> str:
        """Row numbers of what has not settled."""
        return f"""
            SELECT rowid AS row FROM {self.table} INDEXED BY {self.index} WHERE {self.open_while}
            ORDER BY rowid DESC LIMIT {MAX_OPEN}
        """  # noqa: S608

    @property
    def new_sql(self) -> str:
        """What was written after row `:after`, in order."""
        return f"""
            SELECT rowid AS row, ({self.open_while}) AS is_open, {self.columns}
            FROM {self.table} WHERE rowid > :after ORDER BY rowid LIMIT {MAX_ROWS}
        """  # noqa: S608

    @property
    def settled_sql(self) -> str:
        """Those of the rows `:open` (a JSON list) that have settled."""
        return f"""
            SELECT rowid AS row, {self.columns} FROM {self.table}
            WHERE rowid IN (SELECT value FROM json_each(:open)) AND NOT ({self.open_while})
        """  # noqa: S608


class Follower:
    """Where we are in one table. Belongs to whoever holds the lock of the figures."""

    def __init__(self, followed: Followed) -> None:
        """Begin with `begin`."""
        self._followed = followed
        self._after = 0
        self._open: list[int] = []

    def begin(self, database: Database) -> None:
        """Rows that have settled by now are the past; what is open now is counted when it ends."""
        newest = database.query_one(self._followed.newest_sql)
        self._after = 0 if newest is None else int(newest["row"])
        if self._followed.open_while != NEVER:
            self._open = [int(row["row"]) for row in database.query(self._followed.open_sql)]

    def take(self, database: Database) -> list[Row]:
        """The rows that have settled since the last call, each once."""
        settled = self._take_settled(database)
        for row in database.query(self._followed.new_sql, {"after": self._after}):
            self._after = int(row["row"])
            if row["is_open"]:
                self._open.append(self._after)
            else:
                settled.append(row)
        self._open = self._open[-MAX_OPEN:]
        return settled

    def _take_settled(self, database: Database) -> list[Row]:
        if not self._open:
            return []
        rows = database.query(self._followed.settled_sql, {"open": json.dumps(self._open)})
        gone = {int(row["row"]) for row in rows}
        self._open = [row for row in self._open if row not in gone]
        return rows
