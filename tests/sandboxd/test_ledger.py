"""The journal, the outputs and the epoch on their own: torn writes, damage, bounds."""

import resource
from pathlib import Path

import pytest

from sandboxd.execution.capture import Capture, Room
from sandboxd.faults import Misconfigured, Refused, Retryable
from sandboxd.ledger.epoch import Epoch
from sandboxd.ledger.journal import Entry, Journal
from sandboxd.ledger.outputs import Outputs


def entry(operation: str) -> Entry:
    return Entry(
        operation=operation,
        kind="exec",
        sandbox="box",
        instance="0" * 32,
        body_hash="h",
        started_at_ms=1,
    )


def finish(journal: Journal, operation: str) -> None:
    journal.finish(operation, at_ms=2, succeeded=True, outcome="{}")


def test_an_operation_can_be_started_once(tmp_path: Path) -> None:
    journal = Journal(tmp_path / "journal", keep=100)

    assert journal.start(entry("a"))
    assert not journal.start(entry("a"))
    journal.close()


def test_a_reopened_journal_knows_everything(tmp_path: Path) -> None:
    journal = Journal(tmp_path / "journal", keep=100)
    for operation in ("started", "finished", "interrupted", "acked"):
        journal.start(entry(operation))
    finish(journal, "finished")
    finish(journal, "acked")
    journal.interrupt("interrupted", at_ms=3)
    journal.acknowledge("acked")
    before = journal.entries()
    journal.close()

    reopened = Journal(tmp_path / "journal", keep=100)

    assert reopened.entries() == before
    assert reopened.count_unacknowledged() == 2
    reopened.close()


def test_a_torn_last_line_is_as_if_it_had_not_been_written(tmp_path: Path) -> None:
    journal = Journal(tmp_path / "journal", keep=100)
    journal.start(entry("a"))
    journal.close()
    with (tmp_path / "journal").open("ab") as file:
        file.write(b'{"t":"finished","op":"a","at"')

    reopened = Journal(tmp_path / "journal", keep=100)

    found = reopened.find("a")
    assert found is not None
    assert found.phase == "started"
    reopened.close()


def test_damage_in_the_middle_stops_the_start(tmp_path: Path) -> None:
    (tmp_path / "journal").write_bytes(b'{"t":"started"\x00\n{"t":"acked","op":"a"}\n')

    with pytest.raises(Misconfigured, match="journal, line 1: "):
        Journal(tmp_path / "journal", keep=100)


def test_the_journal_stays_bounded_and_forgets_acknowledged_operations_first(
    tmp_path: Path,
) -> None:
    journal = Journal(tmp_path / "journal", keep=10)
    journal.start(entry("precious"))
    finish(journal, "precious")
    for number in range(200):
        journal.start(entry(f"op-{number}"))
        finish(journal, f"op-{number}")
        journal.acknowledge(f"op-{number}")

    assert journal.find("precious") is not None
    assert journal.find("op-199") is not None
    assert journal.find("op-0") is None
    assert (tmp_path / "journal").stat().st_size < 20_000
    journal.close()


def test_a_running_operation_cannot_be_acknowledged(tmp_path: Path) -> None:
    journal = Journal(tmp_path / "journal", keep=100)
    journal.start(entry("a"))

    assert not journal.acknowledge("a")
    assert not journal.acknowledge("unknown")
    journal.close()


def test_outputs_make_room_by_losing_the_oldest(tmp_path: Path) -> None:
    outputs = Outputs(tmp_path / "outputs", limit_bytes=100)
    for operation in ("old", "middle", "new"):
        outputs.put(operation, b"o" * 30, b"e" * 10)

    assert outputs.get("old") is None
    assert outputs.get("new") == (b"o" * 30, b"e" * 10)


def test_outputs_are_found_again_by_the_next_daemon(tmp_path: Path) -> None:
    Outputs(tmp_path / "outputs", limit_bytes=100).put("a", b"out", b"err")

    again = Outputs(tmp_path / "outputs", limit_bytes=100)

    assert again.get("a") == (b"out", b"err")
    again.drop("a")
    assert again.get("a") is None


def test_the_epoch_only_rises_and_is_remembered(tmp_path: Path) -> None:
    Epoch(tmp_path / "epoch").admit(7)

    epoch = Epoch(tmp_path / "epoch")
    epoch.admit(7)
    with pytest.raises(Refused, match="older than 7"):
        epoch.admit(6)

    assert epoch.highest == 7


@pytest.mark.parametrize("size", [1, 3, 10, 64])
@pytest.mark.parametrize("total", [0, 9, 10, 11, 12, 100, 101])
def test_a_capture_keeps_both_ends_whatever_the_pieces(size: int, total: int) -> None:
    raw = bytes(number % 251 for number in range(total))
    capture = Capture(Room(limit_bytes=11))

    for start in range(0, total, size):
        capture.take(raw[start : start + size])

    assert capture.total_bytes == total
    assert capture.is_truncated == (total > 11)
    assert capture.kept() == (raw[:5] + raw[-6:] if capture.is_truncated else raw)
    assert capture.head_bytes == (5 if capture.is_truncated else total)


@pytest.mark.parametrize("total", [16, 17, 18, 100])
def test_a_capture_keeps_a_margin_at_both_sides_of_what_it_leaves_out(total: int) -> None:
    raw = bytes(number % 251 for number in range(total))
    capture = Capture(Room(limit_bytes=11, margin_bytes=3))

    for start in range(0, total, 7):
        capture.take(raw[start : start + 7])

    assert capture.is_truncated == (total > 17)
    assert capture.kept() == (raw[:8] + raw[-9:] if capture.is_truncated else raw)
    assert capture.head_bytes == (8 if capture.is_truncated else total)


def test_a_journal_on_a_full_disk_refuses_and_stays_readable(tmp_path: Path) -> None:
    journal = Journal(tmp_path / "journal", keep=100)
    journal.start(entry("before"))
    size = (tmp_path / "journal").stat().st_size
    limits = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (size + 20, limits[1]))
    try:
        with pytest.raises(Retryable):
            journal.start(entry("refused"))
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, limits)
    journal.start(entry("after"))
    journal.close()

    reopened = Journal(tmp_path / "journal", keep=100)

    assert [found.operation for found in reopened.entries()] == ["before", "after"]
    reopened.close()
