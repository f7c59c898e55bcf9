"""`make check` finds references that lead nowhere, and leaves those that lead somewhere alone."""

from pathlib import Path

import pytest

from tests.frame.checkout import ROOT
from tools.check.references import dangling, find_faults
from tools.check.tree import list_files

NOWHERE = (
    "see facts/" + "models.md",
    "DES" + "IGN §3",
    "as it was seen (incid" + "ent 20)",
    "(sp" + "ec, 保留期)",
    "the sp" + "ec: 七天",
    "(A" + "14)",
    "(O" + "3, O" + "4)",
    "a mode that is none (S" + "26)",
    "docs/facts/" + "weather.md",
    'docs/facts/napcat.md, "No such ' + 'heading"',
)
SOMEWHERE = (
    "docs/facts/napcat.md",
    'docs/facts/napcat.md, "Failure modes"',
    "a wrong token (S20)",
    "play(spec, more)",
    "def play(spec: int) -> None: ...",
    "the specification's words",
    "RFC 9110",
)


@pytest.fixture
def tree(tmp_path: Path) -> Path:
    page = tmp_path / "docs" / "facts" / "napcat.md"
    page.parent.mkdir(parents=True)
    page.write_text("# NapCat\n\n## Failure modes\n\n| S20 | a wrong token |\n", encoding="utf-8")
    return tmp_path


@pytest.mark.parametrize("line", NOWHERE)
def test_a_reference_that_leads_nowhere_is_found_with_its_line(tree: Path, line: str) -> None:
    (tree / "code.py").write_text(f"pass\n# {line}\n", encoding="utf-8")

    found = dangling(tree)

    assert found
    assert all(fault.startswith("code.py:2: ") for fault in found)


@pytest.mark.parametrize("line", SOMEWHERE)
def test_what_leads_somewhere_passes(tree: Path, line: str) -> None:
    (tree / "code.py").write_text(f"# {line}\n", encoding="utf-8")

    assert dangling(tree) == []


def test_no_reference_of_the_tree_leads_nowhere() -> None:
    assert list(find_faults(list_files(), ROOT)) == []
