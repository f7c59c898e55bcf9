"""Display names of people by their QQ numbers, as they last wrote: pages say who it was."""

import json
from collections.abc import Iterable, Mapping
from typing import Final

from perlica.stores.database import Database
from perlica.stores.views.columns import read_all

_LOOKED_AT: Final = 20_000
"""The newest messages: who has not written among them is shown by the number alone."""
_NAMES: Final = f"""
SELECT user_id, CAST(substr(display_name, 1, 64) AS BLOB) AS name, max(id)
FROM (
    SELECT id, user_id, display_name FROM group_messages ORDER BY id DESC LIMIT {_LOOKED_AT}
)
WHERE display_name <> '' AND user_id IN (SELECT value FROM json_each(:numbers))
GROUP BY user_id
"""  # noqa: S608 - made of a constant only


def read_names(db: Database, numbers: Iterable[int]) -> Mapping[int, str]:
    """The display name of each of these numbers that has one."""
    wanted = sorted(set(numbers))
    if not wanted:
        return {}
    rows = read_all(db, _NAMES, {"numbers": json.dumps(wanted)})
    return {row["user_id"]: row["name"] for row in rows}
