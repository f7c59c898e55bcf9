"""Text columns for showing: decoded leniently, cut where they are long.

SQLite keeps any bytes in a text column; Python refuses those that are no UTF-8. A page that shows
fifty rows must not fail because one of them is damaged.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from perlica.stores.database import Bindings, Database, Row

LINE_CODE_POINTS = 200
"""How much of a text stands in a list."""
PASSAGE_CODE_POINTS = 2_000
"""How much of a text stands in a timeline; the rest has a page of its own."""
PAGE_CODE_POINTS = 20_000
"""How much of a text stands on a page of its own."""
DOCUMENT_CODE_POINTS = 65_536
"""How much of a JSON document is read in order to be understood."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Excerpt:
    """The beginning of a protected text; `size_bytes` is the whole one's."""

    text: str = field(repr=False)
    size_bytes: int
    is_cut: bool


def texts(*names: str, code_points: int = LINE_CODE_POINTS) -> str:
    """Columns of a select list that cannot fail to be read, nor be long; `a.b` is called `b`."""
    return ", ".join(
        f"CAST(substr({name}, 1, {code_points}) AS BLOB) AS {_bare(name)}" for name in names
    )


def excerpt(expression: str, code_points: int, *, called: str = "") -> str:
    """Columns of a select list for `with_excerpts`: a beginning and the size of the whole."""
    bare = called or _bare(expression)
    return (
        f"CAST(substr({expression}, 1, {code_points + 1}) AS BLOB) AS {bare},"
        f" octet_length({expression}) AS {bare}_bytes, {code_points} AS {bare}_limit"
    )


def read_all(db: Database, sql: str, bindings: Bindings = ()) -> list[Row]:
    r"""Rows of a query with all texts decoded; bytes that are no UTF-8 become `\xff`."""
    return [_decoded(row) for row in db.stream(sql, bindings)]


def read_one(db: Database, sql: str, bindings: Bindings = ()) -> Row | None:
    """The first row, None when there is none."""
    return next(iter(read_all(db, sql, bindings)), None)


def with_excerpts(row: Row, *names: str) -> dict[str, Any]:
    """The row with the three columns of each `excerpt` made into an `Excerpt`."""
    taken: Mapping[str, Excerpt] = {name: _take_excerpt(row, name) for name in names}
    return {**row, **taken}


def _take_excerpt(row: Row, name: str) -> Excerpt:
    text, size_bytes, limit = (row.pop(key) for key in (name, f"{name}_bytes", f"{name}_limit"))
    whole = str(text or "")
    return Excerpt(text=whole[:limit], size_bytes=size_bytes or 0, is_cut=len(whole) > limit)


def _bare(name: str) -> str:
    return name.rpartition(".")[2]


def _decoded(row: Row) -> Row:
    return {
        name: value.decode("utf-8", "backslashreplace") if isinstance(value, bytes) else value
        for name, value in row.items()
    }


def ordered_by(table: str) -> str:
    """A column: the number of who gave the command that a row of this table comes from."""
    return f"""(
    SELECT user_id FROM commands WHERE {table}.origin_kind = 'command'
    AND message_row = CAST({table}.origin_id AS INTEGER)) AS ordered_by"""  # noqa: S608
