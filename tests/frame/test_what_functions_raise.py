"""`make check` finds public functions whose docstring hides what they raise."""

from pathlib import Path

import pytest

from tools.check import raises

HIDING = '''
class Store:
    def find(self, key):
        """A row by its key."""
        if not key:
            raise Refused("no_key", "there is no key")
'''


def _faults(tmp_path: Path, source: str) -> list[str]:
    path = tmp_path / "store.py"
    path.write_text(source, encoding="utf-8")
    return list(raises.find_in(path))


def test_a_public_method_that_hides_its_error_is_found_with_its_line(tmp_path: Path) -> None:
    (fault,) = _faults(tmp_path, HIDING)

    assert fault == f"{tmp_path / 'store.py'}:3: find does not say: Raises Refused"


@pytest.mark.parametrize(
    ("before", "after"),
    [
        ("by its key.", "by its key. Raises: Refused without one."),
        ("A row by its key.", "See Finder."),
        ("def find", "def _find"),
        ("class Store", "class _Store"),
        ("raise Refused", "raise TypeError"),
        ('raise Refused("no_key", "there is no key")', "raise"),
    ],
)
def test_what_is_told_private_or_a_fault_of_the_caller_passes(
    tmp_path: Path, before: str, after: str
) -> None:
    assert before in HIDING
    assert _faults(tmp_path, HIDING.replace(before, after)) == []


def test_only_the_product_is_looked_at(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    for room in ("perlica", "tests"):
        Path(room).mkdir()
        Path(room, "store.py").write_text(HIDING, encoding="utf-8")
    paths = [Path("perlica/store.py"), Path("tests/store.py")]

    assert [fault.split(":")[0] for fault in raises.find_faults(paths)] == ["perlica/store.py"]
