"""The table of `covered` is true: its tests exist, and each behaviour has one that is evidence."""

import ast
from functools import cache
from pathlib import Path

from tests.behaviour.covered import COVERED, WITHOUT_AN_ITEM

TESTS = Path(__file__).parents[1]


def test_every_test_of_the_table_exists() -> None:
    named = {name for names in COVERED.values() for name in names}

    assert {name for name in named if _find(name) is None} == set()


def test_every_behaviour_is_shown_by_a_test_that_counts_as_evidence() -> None:
    shown = {words for words, names in COVERED.items() if any(map(_is_evidence, names))}

    assert set(COVERED) - shown == WITHOUT_AN_ITEM


def _find(name: str) -> ast.FunctionDef | None:
    file, _, function = name.partition("::")
    found = (node for node in _tree(file).body if isinstance(node, ast.FunctionDef))
    return next((node for node in found if node.name == function), None)


def _is_evidence(name: str) -> bool:
    """Whether the test carries a mark of its own, or its whole file does."""
    function = _find(name)
    marks = [ast.unparse(mark) for mark in function.decorator_list] if function else []
    whole = [ast.unparse(node) for node in _tree(name.partition("::")[0]).body]
    return any("mark.evidence(" in mark for mark in marks) or any(
        line.startswith("pytestmark") and "evidence(" in line for line in whole
    )


@cache
def _tree(file: str) -> ast.Module:
    return ast.parse((TESTS / f"{file}.py").read_bytes())
