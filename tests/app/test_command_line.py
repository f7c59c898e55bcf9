"""`perlica` as an operator types it."""

import json
import os
import subprocess
import sys
from importlib import import_module
from pathlib import Path

import click
import pytest
from click.testing import CliRunner, Result

from perlica import __version__
from perlica.app.cli import main
from perlica.app.cli.group import _COMMANDS
from perlica.app.config import parse_config
from perlica.app.layout import backups_path, database_path
from tests.app.configs import filled_in, write_config


def perlica(*arguments: str | Path, given: str | bytes = "", **environment: str) -> Result:
    runner = CliRunner(env={"PERLICA_CONFIG": "/nowhere/perlica.toml", **environment})
    return runner.invoke(main, list(map(str, arguments)), input=given, prog_name="perlica")


def run_process(*arguments: str | Path) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-m", "perlica.app.cli", *map(str, arguments)],
        capture_output=True,
        text=True,
        check=False,
        timeout=50,
        env={**os.environ, "PYTHONWARNINGS": "error"},
    )


@pytest.mark.parametrize("option", ["-h", "--help"])
def test_the_help_lists_every_command_and_loads_none(option: str) -> None:
    helped = perlica(option)

    assert helped.exit_code == 0
    assert all(name in helped.output for name in _COMMANDS)


def test_the_help_is_quick() -> None:
    program = (
        "import sys\n"
        "from click.testing import CliRunner\n"
        "from perlica.app.cli import main\n"
        "CliRunner().invoke(main, ['-h'])\n"
        "print(sorted({'apsw', 'pykka', 'requests', 're2', 'websocket'} & set(sys.modules)))\n"
    )
    ended = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, check=True, timeout=50
    )

    assert ended.stdout.strip() == "[]"


@pytest.mark.parametrize("name", _COMMANDS)
def test_every_command_explains_itself(name: str) -> None:
    helped = perlica(name, "-h")

    assert helped.exit_code == 0
    assert len(helped.output.splitlines()) > 5
    assert "\\b" not in helped.output
    command = import_module(_COMMANDS[name][0]).command
    assert isinstance(command, click.Command)
    assert command.name == name
    assert command.short_help == _COMMANDS[name][1]


def test_a_shell_can_complete_the_commands() -> None:
    completed = perlica(_PERLICA_COMPLETE="bash_complete", COMP_WORDS="perlica che", COMP_CWORD="1")

    assert "check-config" in completed.output


def test_check_config_says_that_all_is_well(tmp_path: Path) -> None:
    path = write_config(tmp_path)
    checked = perlica("check-config", path)

    assert checked.exit_code == 0
    assert "有效" in checked.output
    assert "沙箱：未启用" in checked.output
    assert perlica("check-config", "--config", path).output == checked.output
    assert perlica("check-config", PERLICA_CONFIG=str(path)).output == checked.output
    assert "valid" in perlica("check-config", path, "--lang", "en").output


def test_check_config_lists_every_mistake_with_exit_code_2(tmp_path: Path) -> None:
    path = write_config(tmp_path, "[tesk]\n[log]\nlevel = 5\n")
    checked = perlica("check-config", path)
    told = json.loads(perlica("check-config", path, "--json").output)

    assert checked.exit_code == 2
    assert "tesk" in checked.stderr
    assert "log.level" in checked.stderr
    assert told["valid"] is False
    assert [problem["key"] for problem in told["problems"]] == ["tesk", "log.level"]


def test_check_config_for_programs(tmp_path: Path) -> None:
    told = json.loads(perlica("check-config", write_config(tmp_path), "--json").output)

    assert told["valid"] is True
    assert told["capabilities"]["sandbox"]["on"] is False
    assert len(told["digest"]) == 64


def test_the_printed_example_is_a_valid_configuration_once_its_numbers_are_real() -> None:
    assert parse_config(filled_in(perlica("example-config").output)).owners


def test_the_doctor_prints_a_line_for_each_finding(tmp_path: Path) -> None:
    path = write_config(tmp_path)
    printed = perlica("doctor", path)
    told = json.loads(perlica("doctor", "--json", "-c", path).output)

    assert printed.exit_code == 2
    assert len(printed.output.splitlines()) == len(told["findings"])
    assert "✗ napcat" in printed.output
    assert " → " in printed.output


def test_a_database_is_made_backed_up_verified_and_restored(tmp_path: Path) -> None:
    path = write_config(tmp_path)
    database = database_path(tmp_path / "state")

    made = perlica("migrate", "-c", path)
    assert made.exit_code == 0
    assert "schema" in made.output
    backed_up = perlica("backup", "-c", path)
    assert backed_up.exit_code == 0, backed_up.output
    (backup,) = backups_path(tmp_path / "state").iterdir()
    assert "whole" in perlica("verify", backup).output
    refused = perlica("restore", backup, "-c", path)
    assert refused.exit_code == 2
    assert "move it away first" in refused.stderr
    for file in database.parent.glob("perlica.db*"):
        file.unlink()
    restored = perlica("restore", backup, "-c", path)

    assert restored.exit_code == 0, restored.output
    assert database.is_file()


def test_old_backups_are_deleted_when_a_new_one_is_made(tmp_path: Path) -> None:
    path = write_config(tmp_path)
    perlica("migrate", "-c", path)
    folder = tmp_path / "elsewhere"
    folder.mkdir()
    old = folder / "perlica-20200101T000000000Z.sqlite3"
    old.touch()
    backed_up = perlica("backup", "-c", path, "--to", folder)

    assert backed_up.exit_code == 0, backed_up.output
    assert not old.exists()
    assert len(list(folder.iterdir())) == 1


def test_a_damaged_backup_is_told_in_one_line(tmp_path: Path) -> None:
    broken = tmp_path / "perlica-20261130T000000000Z.sqlite3"
    broken.write_bytes(b"SQLite format 3\0" + b"\xff" * 8192)
    verified = perlica("verify", broken)

    assert verified.exit_code == 2
    assert verified.stderr.startswith("perlica: ")
    assert "Traceback" not in verified.output


@pytest.mark.parametrize("content", [b"", b"just a letter\n"])
@pytest.mark.parametrize("command", ["verify", "restore"])
def test_a_file_of_another_kind_is_no_damaged_backup(
    command: str, content: bytes, tmp_path: Path
) -> None:
    letter = tmp_path / "letter.txt"
    letter.write_bytes(content)

    told = perlica(command, letter)

    assert told.exit_code == 2
    assert "letter.txt is not a Perlica backup" in told.stderr
    assert "damaged" not in told.stderr


def test_check_config_says_that_secrets_are_the_doctors_part(tmp_path: Path) -> None:
    path = write_config(tmp_path)
    (tmp_path / "napcat-token").unlink()

    checked = perlica("check-config", path)
    checked_in_english = perlica("check-config", path, "--lang", "en")

    assert checked.exit_code == 0
    assert "没有读密钥文件（napcat.token_file" in checked.output
    assert "由 perlica doctor 检查" in checked.output
    assert "perlica doctor checks" in checked_in_english.output


def test_the_versions_are_told() -> None:
    told = perlica("version").output

    assert f"perlica {__version__}" in told
    for name in ("python", "database schema", "policy", "protection rules"):
        assert name in told


def test_a_wrong_configuration_ends_a_run_with_78_and_every_mistake(tmp_path: Path) -> None:
    ended = run_process("run", "-c", write_config(tmp_path, "[tesk]\n[task]\nmax_tokens = 1\n"))

    assert ended.returncode == 78
    assert "tesk" in ended.stderr
    assert "task.max_tokens" in ended.stderr
    assert "Traceback" not in ended.stderr


def test_an_open_secret_ends_a_run_with_78_and_the_remedy(tmp_path: Path) -> None:
    path = write_config(tmp_path)
    (tmp_path / "napcat-token").chmod(0o644)
    ended = run_process("run", "-c", path)

    assert ended.returncode == 78
    assert "chmod 600" in ended.stderr
    assert "a-long-napcat" not in ended.stderr


def test_a_missing_policy_ends_a_run_with_78(tmp_path: Path) -> None:
    path = write_config(tmp_path, f'[policy]\nfile = "{tmp_path / "absent.toml"}"\n')
    ended = run_process("run", "-c", path)

    assert ended.returncode == 78
    assert "policy" in ended.stderr


def test_a_missing_configuration_is_told_in_a_line() -> None:
    failed = perlica("migrate", "-c", "/nowhere/perlica.toml")

    assert failed.exit_code == 2
    assert "不存在" in failed.stderr
    assert "perlica example-config" in failed.stderr
    assert "Traceback" not in failed.output


KEY = "ghp_" + "A1b2C3d4E5f6G7h8I9j0K1l2M3n4O5p6Q7r8"


def test_protect_shows_the_redacted_text_and_never_the_secret() -> None:
    shown = perlica("protect", given=f"第一行\n令牌 {KEY} 完\n")

    assert shown.exit_code == 0
    assert KEY not in shown.output
    assert shown.stdout.startswith("第一行\n令牌 ⟦凭据:github_token:1⟧ 完\n")
    assert "line 2: github_token" in shown.stderr
    assert "1 finding(s)" in shown.stderr


def test_protect_takes_any_bytes() -> None:
    shown = perlica("protect", "--quiet", given=b"\xff\xfe \x00 plain\n")

    assert shown.exit_code == 0
    assert "plain" in shown.stdout
    assert shown.stderr == ""


def test_protect_prints_nothing_that_it_could_not_scan() -> None:
    shown = perlica("protect", given=f"{KEY} " * 400_000)

    assert shown.exit_code == 2
    assert shown.stdout == ""
    assert KEY not in shown.stderr
