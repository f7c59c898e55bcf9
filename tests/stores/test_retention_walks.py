"""Whatever holds text has an age: a table that is added later cannot be forgotten."""

import re
from typing import Final

from perlica.stores.database import Database
from perlica.stores.retention import _RULES

WITHOUT_AGE: Final = {
    "target_group": "one row of ids",
    "service_state": "facts of the service, never content",
    "schema_versions": "names of migrations",
    "sandbox_image_config": "the one image in force",
    "nodes": "one row for each configured node",
    "console_viewers": "names that an operator gave; revoked and expired ones tell who could look",
}
"""Tables that no clean-up touches, and why."""
_CASCADE: Final = re.compile(r"REFERENCES (\w+) \(\w+\) ON DELETE CASCADE")


def tables(db: Database) -> dict[str, str]:
    sql = """
        SELECT name, sql FROM sqlite_schema WHERE type = 'table' AND name NOT LIKE 'sqlite_%'
            AND name NOT LIKE 'message_index%'
    """
    return {row["name"]: row["sql"] for row in db.query(sql)}


def goes_with(name: str, declared: dict[str, str]) -> bool:
    """Whether a clean-up rule deletes its rows, or those of the table that they hang on."""
    if name in {rule.table for rule in _RULES}:
        return True
    return any(goes_with(parent, declared) for parent in _CASCADE.findall(declared[name]))


def test_every_table_is_cleaned_up_or_says_why_not(db: Database) -> None:
    declared = tables(db)

    forgotten = [name for name in declared if not goes_with(name, declared)]

    assert sorted(forgotten) == sorted(WITHOUT_AGE)


def test_everything_that_protection_has_seen_is_deleted_by_its_age(db: Database) -> None:
    declared = tables(db)
    with_text = [name for name, sql in declared.items() if "protection_status" in sql]

    assert len(with_text) > 8
    assert all(goes_with(name, declared) for name in with_text)


def test_the_search_index_goes_with_the_messages(db: Database) -> None:
    sql = "SELECT name FROM sqlite_schema WHERE type = 'trigger' AND tbl_name = 'group_messages'"

    assert {"name": "message_index_after_delete"} in db.query(sql)
