"""Log lines about what was committed: their ids join a task, its operations and its tickets.

The rows are the record; these lines let an operator follow the service from outside. A line is
written after the commit, so that the log never tells of something that was rolled back.
"""

import logging
from functools import partial

from perlica.stores.database import Database

_log = logging.getLogger(__name__)


def tell_when_committed(database: Database, event: str, **ids: str | int | None) -> None:
    """Log `event` with the ids that are there (names: `perlica.app.logs.lines.ID_FIELDS`).

    Raises: RuntimeError outside a transaction.
    """
    known = {name: value for name, value in ids.items() if value is not None}
    database.after_commit(partial(_log.info, event, extra=known))
