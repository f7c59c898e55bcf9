"""What survives `kill -9` of a process that writes."""

import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from perlica.domain.ids import MessageId
from perlica.stores.database import Database
from perlica.stores.messages import MAX_CRASHES, CrashedMessage, MessageKey, MessageStore
from tests.stores.rows import GROUP, ROOT

HELD = MessageKey(group_id=GROUP, message_id=MessageId(2), real_seq=2)


@contextmanager
def writer(path: Path, what: str) -> Iterator["subprocess.Popen[str]"]:
    """The program `writer`, killed at the end of the block and never left behind."""
    process = subprocess.Popen(
        [sys.executable, "-m", "tests.stores.writer", str(path), what],
        cwd=ROOT,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    )
    try:
        yield process
    finally:
        process.kill()
        process.communicate(timeout=30)


def said(process: "subprocess.Popen[str]") -> str:
    assert process.stdout is not None
    return process.stdout.readline().strip()


def facts(path: Path) -> set[str]:
    with Database.open(path) as db:
        assert db.query("PRAGMA integrity_check") == [{"integrity_check": "ok"}]
        return {row["key"] for row in db.query("SELECT key FROM service_state")}


def test_a_kill_inside_a_transaction_keeps_what_was_committed_and_shows_nothing_else(
    path: Path,
) -> None:
    with writer(path, "half") as process:
        assert said(process) == "half"
        grown = path.with_name(path.name + "-wal").stat().st_size
        process.kill()

    assert grown > 5_000_000  # pages of the open transaction had reached the file
    assert facts(path) == {"committed"}


@pytest.mark.parametrize("commits", [1, 7, 23])
def test_a_kill_at_any_moment_loses_no_commit_and_shows_no_half(path: Path, commits: int) -> None:
    with writer(path, "pairs") as process:
        known = [said(process) for _ in range(commits)]
        process.kill()

    found = facts(path)
    numbers = {key.split("-")[0] for key in found}
    assert set(known) <= numbers
    assert found == {f"{number}-{half}" for number in numbers for half in "ab"}


def test_marks_of_messages_in_hand_survive_a_kill_without_waiting_for_the_disk(
    path: Path,
) -> None:
    with writer(path, "marks") as process:
        assert said(process) == "marked"
        process.kill()

    with Database.open(path, relaxed=True) as marks, marks.transaction():
        assert MessageStore(marks).note_crashes() == (CrashedMessage(key=HELD, crashes=1),)
        assert MessageStore(marks).note_crashes() == ()


def test_a_message_that_was_in_hand_at_three_crashes_is_quarantined(path: Path) -> None:
    with Database.open(path, relaxed=True) as marks:
        store = MessageStore(marks)
        seen = []
        for _ in range(MAX_CRASHES):
            with marks.transaction():
                store.mark_in_hand((HELD,))
            with marks.transaction():
                store.note_crashes()
            seen.append(store.is_quarantined(HELD))

        assert seen == [False, False, True]


def test_a_message_that_ended_well_is_forgotten(path: Path) -> None:
    with Database.open(path, relaxed=True) as marks:
        store = MessageStore(marks)
        with marks.transaction():
            store.mark_in_hand((HELD,))
            store.note_crashes()
            store.mark_in_hand((HELD,))
            store.clear_in_hand((HELD,))

        assert store.count_crashes(HELD) == 0


def test_a_message_without_a_sequence_is_known_again_after_a_crash(path: Path) -> None:
    key = MessageKey(group_id=GROUP, message_id=MessageId(3), real_seq=None)
    with Database.open(path, relaxed=True) as marks, marks.transaction():
        store = MessageStore(marks)
        store.mark_in_hand((key,))

        assert store.note_crashes() == (CrashedMessage(key=key, crashes=1),)
