"""The table of `covered` is whole: every item of the facts, and only tests that exist."""

import ast
from pathlib import Path

from tests.napcat.covered import COVERED

TESTS = Path(__file__).parents[1]
ITEMS = (
    [f"S{number:02}" for number in range(1, 26)]
    + [f"A{number}" for number in range(1, 17)]
    + [f"O{number}" for number in range(1, 10)]
)


def test_every_item_has_a_test() -> None:
    assert list(COVERED) == ITEMS
    assert all(COVERED.values())


def test_every_test_of_the_table_exists() -> None:
    named = {name for names in COVERED.values() for name in names}

    missing = {name for name in named if not _exists(name)}

    assert missing == set()


def _exists(name: str) -> bool:
    file, _, function = name.partition("::")
    tree = ast.parse((TESTS / f"{file}.py").read_bytes())
    return any(isinstance(node, ast.FunctionDef) and node.name == function for node in tree.body)
