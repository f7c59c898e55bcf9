"""Making the search index anew, for one that is damaged or missing: `perlica rebuild-index`.

The index holds nothing that is not in the messages, so nothing is lost by throwing it away.
"""

from dataclasses import dataclass
from pathlib import Path
from typing import Final

from perlica.stores.database import Database
from perlica.stores.health import Finding, check_database

_SHADOWS: Final = ("data", "idx", "content", "docsize", "config")
# As the first migration made it; a test holds both equal.
_CREATE: Final = """CREATE VIRTUAL TABLE message_index USING fts5(
    content,
    content = 'searchable_messages',
    content_rowid = 'id',
    tokenize = 'perlica_literal',
    detail = none,
    columnsize = 0
)"""
_SETTINGS: Final = "INSERT INTO message_index (message_index, rank) VALUES ('secure-delete', 1)"
_REBUILD: Final = "INSERT INTO message_index (message_index) VALUES ('rebuild')"
# rank 1: the tokens are compared with the messages.
_COMPARE: Final = "INSERT INTO message_index (message_index, rank) VALUES ('integrity-check', 1)"
_COUNTS: Final = """
SELECT (SELECT count(*) FROM group_messages) AS stored,
    (SELECT count(*) FROM searchable_messages) AS indexed
"""


@dataclass(frozen=True, slots=True, kw_only=True)
class Rebuilt:
    """How many messages there are, how many of them can be found, and what is still wrong."""

    stored: int
    indexed: int
    findings: tuple[Finding, ...]


def rebuild_index(path: Path) -> Rebuilt:
    """Throw the index away and make it anew, in one transaction; takes seconds for a large one.

    Raises: Misconfigured when the messages themselves are damaged; Retryable when the database is
    locked or its disk full. The old index stays then.
    """
    with Database.open(path) as db:
        with db.transaction():
            db.change("DROP TABLE IF EXISTS message_index")
            for shadow in _SHADOWS:
                db.change(f"DROP TABLE IF EXISTS message_index_{shadow}")
            for sql in (_CREATE, _SETTINGS, _REBUILD, _COMPARE):
                db.change(sql)
            (counts,) = db.query(_COUNTS)
        db.truncate_wal()
    return Rebuilt(findings=check_database(path), **counts)
