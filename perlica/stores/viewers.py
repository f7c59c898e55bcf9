"""Viewers of the console: names and digests of their tokens, written by the command line alone.

`perlica console token` adds and revokes; the console looks up through a read-only connection, at
every request anew, so that a revocation counts at once.
"""

import hashlib
import re
from dataclasses import dataclass
from typing import Final, NewType

from perlica.domain.clock import now_ms
from perlica.domain.errors import Refused, StaleState
from perlica.stores.database import Database, Row
from perlica.stores.service import ServiceStore

ViewerId = NewType("ViewerId", int)

NAME_PATTERN: Final = re.compile(r"\w[\w .@-]{0,38}\w|\w")
"""1 to 40 letters, digits and `_ . @ -`, spaces inside."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Viewer:
    """A row of `console_viewers`; the token itself is nowhere."""

    id: ViewerId
    name: str
    epoch: int
    created_at_ms: int
    expires_at_ms: int
    revoked_at_ms: int | None


_COLUMNS: Final = "id, name, epoch, created_at_ms, expires_at_ms, revoked_at_ms"
_INSERT: Final = f"""
INSERT INTO console_viewers (name, token_digest, epoch, created_at_ms, expires_at_ms)
VALUES (:name, :token_digest, :epoch, :now_ms, :expires_at_ms)
RETURNING {_COLUMNS}
"""  # noqa: S608 - joined from constants only
_LIVES: Final = "revoked_at_ms IS NULL AND expires_at_ms > :now_ms AND epoch = :epoch"
_FIND_BY_TOKEN: Final = f"""
SELECT {_COLUMNS} FROM console_viewers WHERE token_digest = :token_digest AND {_LIVES}
"""  # noqa: S608
_FIND: Final = f"SELECT {_COLUMNS} FROM console_viewers WHERE id = :id AND {_LIVES}"  # noqa: S608
_FIND_UNREVOKED: Final = f"""
SELECT {_COLUMNS} FROM console_viewers WHERE name = :name AND revoked_at_ms IS NULL
"""  # noqa: S608
_LIST: Final = f"SELECT {_COLUMNS} FROM console_viewers ORDER BY id"  # noqa: S608
_REVOKE: Final = f"""
UPDATE console_viewers SET revoked_at_ms = :now_ms
WHERE name = :name AND revoked_at_ms IS NULL RETURNING {_COLUMNS}
"""  # noqa: S608


def digest_token(token: str) -> str:
    """The only form in which a token is kept (hex SHA-256; tokens are 256 random bits)."""
    return hashlib.sha256(f"perlica-viewer:{token}".encode("utf-8", "replace")).hexdigest()


class ViewerStore:
    """Reads and writes `console_viewers`."""

    def __init__(self, db: Database) -> None:
        """Work on this connection."""
        self._db = db

    def add(self, name: str, *, token_digest: str, lifetime_ms: int) -> Viewer:
        """A new viewer; the name of one who has expired, or is of an older epoch, is free again.

        Raises: Refused `viewer_name` for a name that is none, `viewer_exists` for a living one.
        """
        if not NAME_PATTERN.fullmatch(name):
            text = "a viewer's name has 1 to 40 letters, digits, and . _ @ - or spaces inside"
            raise Refused("viewer_name", text)
        at_ms, epoch = now_ms(), ServiceStore(self._db).epoch()
        known = self._db.query_one(_FIND_UNREVOKED, {"name": name})
        if known is not None and known["expires_at_ms"] > at_ms and known["epoch"] == epoch:
            raise Refused("viewer_exists", f"{name} has a token already; revoke it first")
        if known is not None:
            self._db.change(_REVOKE, {"name": name, "now_ms": at_ms})
        bindings = {
            "name": name,
            "token_digest": token_digest,
            "epoch": epoch,
            "now_ms": at_ms,
            "expires_at_ms": at_ms + lifetime_ms,
        }
        return _viewer(self._db.change(_INSERT, bindings)[0])

    def revoke(self, name: str) -> Viewer:
        """Make a viewer's token worthless from now on. Raises: StaleState when there is none."""
        row = self._db.change_one(_REVOKE, {"name": name, "now_ms": now_ms()})
        if row is None:
            raise StaleState("no_viewer", f"no viewer called {name} has a token")
        return _viewer(row)

    def list_all(self) -> tuple[Viewer, ...]:
        """Everybody who ever got a token, in that order."""
        return tuple(map(_viewer, self._db.query(_LIST)))

    def find_by_token(self, token_digest: str) -> Viewer | None:
        """The viewer whose token it is, if it is worth something now."""
        return self._living(_FIND_BY_TOKEN, token_digest=token_digest)

    def find_living(self, viewer: ViewerId) -> Viewer | None:
        """The viewer, unless the token was revoked or has expired, or the epoch is over."""
        return self._living(_FIND, id=viewer)

    def is_living(self, viewer: Viewer) -> bool:
        """Whether a listed viewer could still log in."""
        return self.find_living(viewer.id) is not None

    def _living(self, sql: str, **bindings: object) -> Viewer | None:
        now = {"now_ms": now_ms(), "epoch": ServiceStore(self._db).epoch()}
        row = self._db.query_one(sql, {**bindings, **now})
        return None if row is None else _viewer(row)


def _viewer(row: Row) -> Viewer:
    return Viewer(**row)
