"""The verifier of the power-loss checks notices what it is there for."""

from pathlib import Path

import pytest

from gate.power.verifier import Account
from gate.power.workload import Writer, content_of, unsynced_content


@pytest.fixture
def root(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The lower tree that the writer works on, without any overlay."""
    from gate.rig import image

    monkeypatch.setattr(image, "POWER_ITEMS", 3)

    for entry in image._power():
        path = tmp_path / entry.name
        if entry.target:
            path.hardlink_to(tmp_path / entry.target)
        elif entry.kind == b"5":
            path.mkdir(parents=True, exist_ok=True)
        else:
            path.write_bytes(entry.content)
    return tmp_path


def do(root: Path, kind: str, item: int, *, number: int = 1) -> None:
    from gate.power.workload import Step

    writer = Writer(root, first=0, spent={}, seed=0)
    writer._doers[kind](Step(number=number, kind=kind, item=item))


def acknowledged(kind: str, item: int, *, number: int = 1) -> Account:
    account = Account()
    account.hear(f"b {number} {kind} {item}\na {number}\n".encode())
    return account


KINDS = ("create", "append", "link", "whiteout", "rename", "chmod", "replace")


@pytest.mark.parametrize("kind", KINDS)
def test_what_was_done_and_acknowledged_is_right(root: Path, kind: str) -> None:
    do(root, kind, 1)

    assert acknowledged(kind, 1).verify(root) == []


@pytest.mark.parametrize("kind", KINDS)
def test_what_was_acknowledged_and_is_not_there_is_noticed(root: Path, kind: str) -> None:
    assert acknowledged(kind, 1).verify(root) != []


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("happened", [True, False])
def test_what_was_begun_may_have_happened_or_not(root: Path, kind: str, happened: bool) -> None:
    account = Account()
    account.hear(f"b 1 {kind} 1\n".encode())
    if happened:
        do(root, kind, 1)

    assert account.verify(root) == []


def test_a_removed_file_that_is_back_is_noticed(root: Path) -> None:
    account = acknowledged("create", 5)
    account.hear(b"b 6 remove 5\na 6\n")
    (root / "srv/power/a/5").write_bytes(content_of(5))

    assert account.verify(root) == ["the removed file 5 is back"]


def test_foreign_bytes_in_a_file_that_was_never_synced_are_noticed(root: Path) -> None:
    good, bad = root / "srv/power/c/1", root / "srv/power/c/2"
    good.write_bytes(unsynced_content(1)[:10_000] + bytes(100))
    bad.write_bytes(b"somebody else's" * 100)

    wrong = Account().verify(root)

    assert any("unsynced file 2" in sentence for sentence in wrong)


def test_two_names_that_became_two_files_are_noticed(root: Path) -> None:
    second = root / "srv/power/f/two"
    content = second.read_bytes()
    second.unlink()
    second.write_bytes(content + b"other")

    assert len(Account().verify(root)) == 2


def test_an_acknowledgement_after_the_cut_counts_only_as_begun(root: Path) -> None:
    account = Account()
    account.hear_late(b"b 1 create 1\na 1\n")

    assert account.acknowledged == 0
    assert account.verify(root) == []


def test_an_item_that_was_begun_is_never_used_again(root: Path) -> None:
    account = Account()
    account.hear(b"b 7 replace 4\n")
    account.verify(root)

    assert account.spent == {"replace": 5}
