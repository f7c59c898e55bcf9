"""What the doctor finds, on real files, a real database and over real sockets."""

import json
import os
import socket
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest
import time_machine

from perlica.app.doctor import files
from perlica.app.doctor.examination import Report, examine
from perlica.app.doctor.findings import Finding, Level
from perlica.app.layout import backups_path, database_path
from perlica.demo.model import HttpError, RehearsalModel, ScriptedModel
from perlica.demo.napcat import NapCatStandIn
from perlica.domain.texts import Language
from perlica.stores.backup import back_up, restore_backup
from perlica.stores.database import Database
from perlica.stores.migrations import check_target, migrate
from tests.app.configs import DIGEST, SANDBOX, SOCKET, write_config, write_private
from tests.app.node_daemon import answering_daemon

TOKEN = "a-long-napcat-token-for-tests"
MONTH_S = 30 * 86_400


@pytest.fixture
def napcat() -> Iterator[NapCatStandIn]:
    with NapCatStandIn(token=TOKEN) as stand_in:
        yield stand_in


@pytest.fixture
def model() -> Iterator[RehearsalModel]:
    with RehearsalModel() as served:
        yield served


@pytest.fixture
def whole(tmp_path: Path, napcat: NapCatStandIn, model: RehearsalModel) -> Path:
    """A configuration with everything behind it but sandboxes."""
    (tmp_path / "state").mkdir(mode=0o700)
    return write_config(tmp_path, napcat_port=napcat.port, model_port=port_of(model))


def port_of(model: RehearsalModel | ScriptedModel) -> int:
    return int(model.base_url.rpartition(":")[2].partition("/")[0])


def make_database(folder: Path) -> Path:
    path = database_path(folder / "state")
    migrate(path)
    with Database.open(path) as database:
        check_target(database, 600100200, 10000)
    return path


def found(report: Report, code: str) -> Finding:
    matching = [finding for finding in report.findings if finding.code == code]
    assert matching, [finding.code for finding in report.findings]
    return matching[0]


def levels(report: Report) -> set[Level]:
    return {finding.level for finding in report.findings}


def test_a_whole_installation_has_nothing_to_do(whole: Path, tmp_path: Path) -> None:
    make_database(tmp_path)

    report = examine(whole)

    assert report.exit_code == 0
    assert levels(report) <= {Level.ok, Level.note}
    assert found(report, "database_ok").level is Level.ok
    assert found(report, "napcat_reachable").subject
    assert found(report, "capability_off").level is Level.note


def test_online_it_logs_in_and_asks_the_model(whole: Path) -> None:
    report = examine(whole, online=True)

    assert report.exit_code == 0
    assert found(report, "napcat_ok").subject
    assert found(report, "model_answers").subject


def test_every_finding_that_is_not_good_says_what_to_do(tmp_path: Path) -> None:
    report = examine(write_config(tmp_path, SANDBOX), online=True)

    bad = [f for f in report.findings if f.level in {Level.warning, Level.error}]
    assert {"napcat_connect", "sandboxd_unreachable"} <= {finding.code for finding in bad}
    assert report.exit_code == 2
    for finding in bad:
        assert finding.remedy
        for language in Language:
            assert finding.text.say(language)
            assert finding.remedy.say(language)


def test_the_json_form_is_stable(tmp_path: Path) -> None:
    told = json.loads(examine(write_config(tmp_path), language=Language.en).as_json())

    assert set(told) == {"schema", "status", "findings"}
    assert told["schema"] == 1
    assert told["status"] == "errors"
    for finding in told["findings"]:
        assert set(finding) == {"level", "code", "subject", "text", "remedy"}
        assert finding["level"] in {"ok", "note", "warning", "error"}
        assert finding["text"].isascii() or "/" in finding["text"]


def test_problems_of_the_configuration_are_findings_with_their_lines(tmp_path: Path) -> None:
    path = write_config(tmp_path, "[task]\nmax_model_call = 1\n")
    report = examine(path)

    problem = found(report, "unknown_key")
    assert problem.subject == "task.max_model_call"
    assert "第 " in problem.text.say(Language.zh)
    assert report.exit_code == 2


def test_without_a_configuration_it_says_where_to_begin(tmp_path: Path) -> None:
    report = examine(tmp_path / "absent.toml", language=Language.en)

    assert report.exit_code == 2
    remedy = found(report, "file_missing").remedy or TEXT
    assert "perlica example-config" in remedy.say(Language.en)


TEXT = files._SECRET_OK


def test_a_wrong_token_is_told_as_that(whole: Path, tmp_path: Path) -> None:
    write_private(tmp_path / "napcat-token", "another-token-than-that-of-napcat")
    report = examine(whole, online=True)

    assert found(report, "napcat_token_wrong").level is Level.error
    assert "another-token" not in report.as_json()


def test_another_account_is_told_as_that(whole: Path) -> None:
    whole.write_text(whole.read_text().replace("self_id = 10000", "self_id = 10009"))
    report = examine(whole, online=True)

    assert found(report, "napcat_other_account").level is Level.error


def test_a_napcat_that_says_nothing_is_given_up(whole: Path, tmp_path: Path) -> None:
    with socket.create_server(("127.0.0.1", 0)) as silent:
        path = write_config(tmp_path, napcat_port=silent.getsockname()[1])
        path.write_text(path.read_text().replace("connect_within_s = 2", "connect_within_s = 0.2"))
        report = examine(path, online=True)

    assert found(report, "napcat_upgrade").level is Level.error


def test_a_model_that_refuses_is_told_with_the_remedy(tmp_path: Path) -> None:
    with ScriptedModel([HttpError(status=401)]) as model:
        report = examine(write_config(tmp_path, model_port=port_of(model)), online=True)

    bad = [f for f in report.findings if f.subject == "model" and f.level is Level.error]
    assert len(bad) == 1


@pytest.mark.parametrize(
    ("node", "digests", "code"),
    [
        ("node-1", (DIGEST,), "sandboxd_ok"),
        ("node-2", (DIGEST,), "sandboxd_other_node"),
        ("node-1", (), "sandboxd_lacks_image"),
    ],
)
def test_the_node_daemon_is_asked_who_it_is_and_what_it_holds(
    whole: Path, tmp_path: Path, node: str, digests: tuple[str, ...], code: str
) -> None:
    socket_path = tmp_path / "s.sock"
    section = SANDBOX.replace(SOCKET, str(socket_path))
    whole.write_text(whole.read_text() + section)
    with answering_daemon(socket_path, node=node, digests=digests):
        report = examine(whole)

    assert found(report, code).subject
    assert found(report, "capability_experimental").level is Level.note


def test_an_open_secret_is_an_error(whole: Path, tmp_path: Path) -> None:
    (tmp_path / "napcat-token").chmod(0o644)
    report = examine(whole)

    assert found(report, "secret_open").subject == "napcat.token_file"
    assert report.exit_code == 2


def test_a_short_secret_is_a_warning(whole: Path, tmp_path: Path) -> None:
    write_private(tmp_path / "napcat-token", "short")
    report = examine(whole)

    assert found(report, "secret_short").level is Level.warning
    assert report.exit_code == 1


def test_a_state_directory_that_others_can_enter_is_a_warning(whole: Path, tmp_path: Path) -> None:
    (tmp_path / "state").chmod(0o755)

    assert found(examine(whole), "state_dir_open").level is Level.warning


def test_a_missing_state_directory_is_made_by_a_start(whole: Path, tmp_path: Path) -> None:
    (tmp_path / "state").rmdir()

    assert found(examine(whole), "state_dir_missing").level is Level.note


def test_a_file_in_place_of_the_state_directory_is_an_error(whole: Path, tmp_path: Path) -> None:
    (tmp_path / "state").rmdir()
    (tmp_path / "state").touch()

    assert found(examine(whole), "state_dir_not_writable").level is Level.error


def test_little_room_on_the_disk_is_a_warning(whole: Path) -> None:
    whole.write_text(whole.read_text() + f"[retention]\nmin_free_bytes = {2**50}\n")

    assert found(examine(whole), "disk_low").level is Level.warning


def test_a_fleeting_file_system_is_told(whole: Path) -> None:
    shm = Path("/dev/shm")
    if files.file_system_of(shm) != "tmpfs":
        pytest.skip("no tmpfs at /dev/shm")
    state = shm / f"perlica-test-{os.getpid()}"
    state.mkdir(mode=0o700)
    try:
        text = whole.read_text()
        whole.write_text(text.replace(str(whole.parent / "state"), str(state)))
        report = examine(whole)
    finally:
        state.rmdir()

    assert found(report, "file_system_fleeting").level is Level.warning


def test_the_database_is_looked_into(whole: Path, tmp_path: Path) -> None:
    path = make_database(tmp_path)
    with path.open("r+b") as file:
        file.seek(4096 * 3)
        file.write(b"\xff" * 4096 * 4)
    report = examine(whole)

    assert [f for f in report.findings if f.subject == "database" and f.level is Level.error]


def test_a_database_of_another_group_is_an_error(whole: Path, tmp_path: Path) -> None:
    make_database(tmp_path)
    whole.write_text(whole.read_text().replace("600100200", "600100201"))

    assert found(examine(whole), "other_group").level is Level.error


def test_a_restored_database_says_so(whole: Path, tmp_path: Path) -> None:
    path = make_database(tmp_path)
    with Database.open(path) as database:
        made = back_up(database, backups_path(tmp_path / "state"))
    assert found(examine(whole), "backup_ok").subject
    for old in path.parent.glob("perlica.db*"):
        old.unlink()
    restore_backup(made.path, path)

    restored = found(examine(whole), "database_restored")
    assert made.path.name in restored.text.say(Language.zh)


def test_an_old_database_without_a_backup_is_a_warning(whole: Path, tmp_path: Path) -> None:
    path = make_database(tmp_path)
    later = path.stat().st_mtime + MONTH_S
    with time_machine.travel(later, tick=True):
        report = examine(whole)

    assert found(report, "backup_old").level is Level.warning


def test_a_clock_in_the_past_is_an_error(whole: Path) -> None:
    with time_machine.travel(0, tick=True):
        report = examine(whole)

    assert found(report, "clock_wrong").level is Level.error


def test_a_clock_that_was_set_back_is_a_warning(whole: Path, tmp_path: Path) -> None:
    path = make_database(tmp_path)
    ahead = path.stat().st_mtime + MONTH_S
    os.utime(path, (ahead, ahead))

    assert found(examine(whole), "clock_went_back").level is Level.warning


def test_a_credential_in_the_context_is_an_error(whole: Path) -> None:
    key = "ghp_" + "A1b2C3d4E5f6G7h8I9j0K1l2M3n4O5p6Q7r8"
    whole.write_text(whole.read_text() + f'[context]\ntext = "use {key}"\n')
    report = examine(whole)

    assert found(report, "context_holds_secret").level is Level.error
    assert key not in report.as_json()


def test_a_policy_that_cannot_be_read_is_an_error(whole: Path, tmp_path: Path) -> None:
    write_private(tmp_path / "policy.toml", "[low]\n")
    whole.write_text(whole.read_text() + f'[policy]\nfile = "{tmp_path / "policy.toml"}"\n')

    assert found(examine(whole), "policy_version").level is Level.error


def test_a_log_file_that_cannot_be_made_is_an_error(whole: Path, tmp_path: Path) -> None:
    whole.write_text(whole.read_text() + f'[log]\nfile = "{tmp_path / "absent" / "x.log"}"\n')

    assert found(examine(whole), "log_not_writable").level is Level.error


def test_a_check_that_breaks_is_a_finding_and_the_others_go_on(
    whole: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def broken(_: object) -> Iterator[Finding]:
        raise KeyError("content of somebody")

    monkeypatch.setattr(files, "check_policy", broken)
    report = examine(whole)

    failed = found(report, "check_failed")
    assert failed.subject == "policy"
    assert "somebody" not in report.as_json()
    assert found(report, "capability_off").subject


def test_nothing_is_changed_by_looking(whole: Path, tmp_path: Path) -> None:
    make_database(tmp_path)
    before = {path: path.stat().st_mtime_ns for path in tmp_path.rglob("*") if path.is_file()}

    examine(whole, online=True)

    after = {path: path.stat().st_mtime_ns for path in tmp_path.rglob("*") if path.is_file()}
    # A reader of a database in WAL mode makes these two, empty, where they are missing.
    made = {path for path in after if path not in before}
    assert {path.suffix for path in made} <= {".db-wal", ".db-shm"}
    assert {path: after[path] for path in before} == before


def test_a_report_weighs_its_worst_finding() -> None:
    ok = Finding(level=Level.ok, code="x", subject="x", text=TEXT)
    for level, code in ((Level.note, 0), (Level.warning, 1), (Level.error, 2)):
        report = Report(findings=(ok, replace(ok, level=level)), language=Language.zh)
        assert report.exit_code == code


def test_a_database_of_a_newer_program_is_an_error(whole: Path, tmp_path: Path) -> None:
    columns = "(version, name, sha256, applied_at_ms)"
    newer = f"INSERT INTO schema_versions {columns} VALUES (99, 'x', 'x', 0)"
    path = make_database(tmp_path)
    with Database.open(path) as database, database.transaction():
        database.change(newer)

    assert found(examine(whole), "schema_newer").level is Level.error


def test_a_reverse_connection_is_waited_for_and_not_dialled(whole: Path) -> None:
    text = whole.read_text()
    line = next(line for line in text.splitlines() if line.startswith("url = "))
    whole.write_text(text.replace(line, 'listen = "127.0.0.1:6700"'))

    assert found(examine(whole, online=True), "napcat_reverse").level is Level.note


def test_online_checks_say_nothing_twice_about_a_missing_secret(
    whole: Path, tmp_path: Path
) -> None:
    (tmp_path / "napcat-token").unlink()
    report = examine(whole, online=True)

    errors = [f for f in report.findings if f.level is Level.error]
    assert [finding.code for finding in errors] == ["secret_missing"]


def test_a_socket_that_everybody_can_use_is_a_warning(whole: Path, tmp_path: Path) -> None:
    socket_path = tmp_path / "s.sock"
    section = SANDBOX.replace(SOCKET, str(socket_path))
    whole.write_text(whole.read_text() + section)
    with answering_daemon(socket_path, node="node-1", digests=(DIGEST,)):
        socket_path.chmod(0o666)
        tmp_path.chmod(0o755)
        report = examine(whole)

    assert found(report, "sandboxd_socket_open").level is Level.warning
