"""A sick database says so, with what to do."""

from pathlib import Path

from perlica.stores.database import Database
from perlica.stores.health import HealthLimits, Severity, check_database, measure
from tests.stores.rows import stored


def codes(path: Path, limits: HealthLimits | None = None) -> dict[str, Severity]:
    return {finding.code: finding.severity for finding in check_database(path, limits)}


def test_a_database_that_is_well_has_no_findings(path: Path, db: Database) -> None:
    stored(db, "沙箱")

    assert check_database(path) == ()


def test_a_look_leaves_no_trace_and_holds_up_no_writer(path: Path, db: Database) -> None:
    with db.transaction():
        db.change("INSERT INTO service_state VALUES ('a', 'b')")
        assert check_database(path) == ()


def test_flipped_bytes_are_found(path: Path, db: Database) -> None:
    for _ in range(200):
        stored(db, "沙箱" * 20)
    db.truncate_wal()
    whole = bytearray(path.read_bytes())
    middle = len(whole) // 2
    whole[middle : middle + 8_192] = b"\xa5" * 8_192
    path.write_bytes(bytes(whole))

    assert codes(path)["database_corrupt"] is Severity.fault


def test_a_file_that_is_no_database_is_found(tmp_path: Path) -> None:
    file = tmp_path / "noise.sqlite3"
    file.write_bytes(b"\xff" * 8_192)

    assert codes(file)["database_corrupt"] is Severity.fault


def test_a_missing_database_is_found(tmp_path: Path) -> None:
    assert codes(tmp_path / "none.sqlite3") == {"no_database": Severity.fault}
    assert codes(tmp_path / "no folder" / "none.sqlite3") == {"no_database": Severity.fault}


def test_a_reference_to_a_row_that_is_gone_is_found(path: Path, db: Database) -> None:
    db.query("PRAGMA foreign_keys = OFF")
    with db.transaction():
        db.query(
            "INSERT INTO attachments (message_row, kind, name, protection_status, policy_version,"
            " finding_count, handle, created_at_ms) VALUES (99, 'x', '', 'redacted', '1', 0, '', 1)"
        )

    assert codes(path) == {"database_dangling": Severity.fault}


def test_a_disk_that_runs_full_and_a_log_that_grows_are_found(path: Path, db: Database) -> None:
    stored(db, "x")
    free_bytes = measure(path).free_bytes

    found = codes(path, HealthLimits(min_free_bytes=free_bytes * 2, max_wal_bytes=1))

    assert found == {"disk_low": Severity.warning, "wal_large": Severity.warning}


def test_a_database_that_others_can_read_is_found(path: Path) -> None:
    path.chmod(0o644)

    (finding,) = check_database(path)

    assert finding.code == "database_readable"
    assert finding.remedy == f"chmod 600 {path}"
