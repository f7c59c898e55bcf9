"""docs/adding.md stays short and true: six places at most, each of which exists."""

import re
from pathlib import Path

import pytest

from tests.frame.checkout import ROOT, read_tree_file

MOST_PLACES = 6
KINDS = ("A tool", "A capability", "A runtime", "A console page")
_PATH = re.compile(r"`((?:perlica|tests|actors|setup\.cfg|config)[\w./<>-]*)`")


def sections() -> dict[str, str]:
    text = read_tree_file("docs/adding.md")
    parts = re.split(r"^## (.+)$", text, flags=re.MULTILINE)
    return dict(zip(parts[1::2], parts[2::2], strict=True))


def places(section: str) -> list[str]:
    return re.findall(r"^\d+\. ", section, re.MULTILINE)


def missing(text: str, root: Path) -> list[str]:
    """Paths in a text that do not exist; a part in angle brackets stands for a folder to make."""
    named = [path.split("<")[0] for path in _PATH.findall(text)]
    return [path for path in named if not (root / path).exists()]


def test_there_is_a_list_for_each_kind_of_thing() -> None:
    assert tuple(sections()) == KINDS


@pytest.mark.parametrize("kind", KINDS)
def test_a_list_has_at_most_six_places_and_all_of_them_exist(kind: str) -> None:
    section = sections()[kind]

    assert 0 < len(places(section)) <= MOST_PLACES
    assert _PATH.findall(section)
    assert missing(section, ROOT) == []


def test_a_place_that_moved_and_a_list_that_grew_are_noticed() -> None:
    assert missing("look at `perlica/gateway/nowhere.py`", ROOT) == ["perlica/gateway/nowhere.py"]
    assert len(places("1. a\n2. b\n")) == 2


def test_a_newcomer_is_led_there() -> None:
    for page in ("CONTRIBUTING.md", "ARCHITECTURE.md"):
        assert "docs/adding.md" in read_tree_file(page)
