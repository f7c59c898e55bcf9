"""The runner of mutants finds changes, leaves words alone, and tells a good test from none."""

import subprocess
from pathlib import Path

import pytest

from tools.mutants.changes import Change, find_changes
from tools.mutants.rooms import ROOMS, Room
from tools.mutants.trial import Sight, Tree, Verdict, try_change

ROOT = Path(__file__).parents[2]
SOURCE = b'''"""A module."""

import logging

_log = logging.getLogger(__name__)
LIMIT: int = 3


def is_small(number: int) -> bool:
    """Whether it is small: 3 at most."""
    _log.info("asked for %d", 1)
    if number < 0:
        raise ValueError("below 0")
    return number <= LIMIT and number != 2


def never_asked() -> bool:
    return True
'''
NOTICES = """
import pytest
from room.rule import is_small

def test_it():
    assert [n for n in range(9) if is_small(n)] == [0, 1, 3]
    with pytest.raises(ValueError):
        is_small(-1)
"""
NOTICES_NOTHING = """
from room.rule import is_small

def test_it():
    is_small(1)
"""


def changes() -> list[Change]:
    return find_changes("room/rule.py", SOURCE)


def test_every_change_is_a_program_and_another_one() -> None:
    made = [change.applied(SOURCE) for change in changes()]

    assert len(made) == len(set(made)) > 10
    for text in made:
        compile(text, "rule.py", "exec")


def test_words_and_log_lines_stay_as_they_are() -> None:
    for change in changes():
        text = change.applied(SOURCE)
        assert b'"asked for %d", 1' in text
        assert b"Whether it is small: 3 at most." in text


@pytest.mark.parametrize("room", ROOMS, ids=lambda room: room.name)
def test_every_room_has_changes_and_tests(room: Room) -> None:
    files = room.files(ROOT)

    assert any(find_changes(str(path), (ROOT / path).read_bytes()) for path in files)
    assert all((ROOT / test).exists() for test in room.tests)


@pytest.mark.timeout(240)
def test_good_tests_notice_what_others_do_not(tmp_path: Path) -> None:
    verdicts = {}
    for name, tests in (("good", NOTICES), ("none", NOTICES_NOTHING)):
        root = tmp_path / name
        _lay(root, tests)
        tree = Tree(root, tmp_path / f"{name}-work")
        tree.prepare()
        room = Room(name="room", sources=("room",), tests=("tests",))
        sight = Sight(tree, tmp_path / f"{name}-work", room)
        assert sight.measure() == ""
        chosen = next(change for change in changes() if change.what == "comparison")
        unseen = next(change for change in changes() if "return True" in change.before)
        verdicts[name] = [try_change(tree, sight, it).verdict for it in (chosen, unseen)]
        assert (tree.path / "room" / "rule.py").read_bytes() == SOURCE

    assert verdicts == {
        "good": [Verdict.noticed, Verdict.unseen],
        "none": [Verdict.survived, Verdict.unseen],
    }


def _lay(root: Path, tests: str) -> None:
    for folder in ("room", "tests"):
        (root / folder).mkdir(parents=True)
    (root / "room" / "__init__.py").write_text("")
    (root / "room" / "rule.py").write_bytes(SOURCE)
    (root / "tests" / "test_rule.py").write_text(tests)
    (root / "setup.cfg").write_text(
        "[tool:pytest]\npythonpath = .\n[coverage:run]\nbranch = True\nparallel = True\n"
        "data_file = build/coverage/data\n"
    )
    subprocess.run(["git", "init", "-q", str(root)], check=True)
