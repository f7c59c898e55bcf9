"""`make figures` counts what is there: each figure moves with the tree that it is about."""

import json
import subprocess
from pathlib import Path

import pytest

from tools import figures

TOOL = """
PLANNED = Planned(plan=ActionPlan(action="moon.look"))
"""


@pytest.fixture
def tree(tmp_path: Path) -> Path:
    """A small product with one tool, spelled in the policy and where it is planned."""
    write(tmp_path, "perlica/gateway/policy.toml", '[low]\n"moon.look" = ["group"]\n')
    write(tmp_path, "perlica/gateway/moon.py", TOOL)
    write(tmp_path, "perlica/__init__.py", "")
    write(tmp_path, "actors/flat.py", "def f():\n    return 1\n")
    write(tmp_path, "actors/deep/actor.py", "x = 1\n")
    return tmp_path


def write(root: Path, name: str, text: str) -> None:
    path = root / name
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text, encoding="utf-8")


def test_the_places_of_a_tool_are_the_files_that_spell_its_action(tree: Path) -> None:
    assert figures.measure(tree)["places of a tool (median, most)"] == "2, 2"

    write(tree, "perlica/words.py", 'WORDS = {"moon.look": "look at the moon"}\n')
    write(tree, "perlica/other.py", 'OTHER = "moon.land"\n')

    assert figures.measure(tree)["places of a tool (median, most)"] == "3, 3"


def test_an_action_that_nothing_plans_is_no_tool(tree: Path) -> None:
    write(tree, "perlica/gateway/policy.toml", '[low]\n"moon.look" = []\n"moon.land" = []\n')

    assert list(figures.places_of_actions(tree)) == ["moon.look"]


def test_flat_files_of_actors_are_told_from_those_in_packages(tree: Path) -> None:
    assert figures.measure(tree)["files flat in actors/ (of all)"] == "1 of 2"


def circles(root: Path) -> str:
    return figures.measure(root)["circles of imports (largest)"]


def test_a_circle_is_found_through_a_package_and_inside_of_a_function(tree: Path) -> None:
    assert circles(tree) == "0 (0)"
    write(tree, "perlica/house/__init__.py", "from perlica.house.hall import Hall\n")
    write(tree, "perlica/house/hall.py", "def f():\n    from perlica.stairs import up\n")
    write(tree, "perlica/stairs.py", "from perlica.house.hall import Hall\n")

    assert circles(tree) == "1 (3)"


def test_what_is_imported_for_types_alone_makes_no_circle(tree: Path) -> None:
    write(tree, "perlica/a.py", "if TYPE_CHECKING:\n    from perlica.b import B\n")
    write(tree, "perlica/b.py", "from perlica.a import A\n")

    assert circles(tree) == "0 (0)"


def test_sizes_and_references_are_counted(tree: Path) -> None:
    before = figures.measure(tree)
    long = "def g():\n" + "    x = 1\n" * 51
    write(tree, "perlica/long.py", long + "# see facts/" + "moon.md\n" + "\n" * 400)

    after = figures.measure(tree)

    assert (before["functions above 50 lines"], after["functions above 50 lines"]) == ("0", "1")
    assert (before["files above 400 lines"], after["files above 400 lines"]) == ("0", "1")
    assert after["references that lead nowhere"] == "1"
    assert before["files, functions"] == "4, 1"


def test_an_older_tree_stands_beside_this_one(
    tree: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tree)
    who = ["-c", "user.name=x", "-c", "user.email=x@example.org"]
    for words in (["init", "-q"], ["add", "."], [*who, "commit", "-q", "-m", "first"]):
        subprocess.run(["git", *words], check=True)
    write(tree, "perlica/words.py", 'WORDS = {"moon.look": 1}\n')

    figures.main(["--against", "HEAD", "--json"])

    told = json.loads(capsys.readouterr().out)
    key = "places of a tool (median, most)"
    assert (told["HEAD"][key], told["now"][key]) == ("2, 2", "3, 3")


def test_a_revision_that_is_none_is_refused_before_git_sees_it() -> None:
    with pytest.raises(SystemExit):
        figures.main(["--against", "--output=/tmp/x"])
