"""`perlica restore` as an operator types it: never under a running service."""

import os
from pathlib import Path

import pytest

from perlica.app.instance import only_instance
from perlica.app.layout import backups_path, database_path
from perlica.domain.errors import Misconfigured
from tests.app.configs import write_config
from tests.app.test_command_line import perlica


def test_a_restore_while_the_service_runs_is_refused_with_the_remedy(tmp_path: Path) -> None:
    path = write_config(tmp_path)
    perlica("migrate", "-c", path)
    perlica("backup", "-c", path)
    (backup,) = backups_path(tmp_path / "state").iterdir()
    database = database_path(tmp_path / "state")
    database.rename(tmp_path / "old.db")

    with only_instance(tmp_path / "state"):
        refused = perlica("restore", backup, "-c", path)

    assert refused.exit_code == 2
    assert "another perlica runs" in refused.stderr
    assert "stop it first" in refused.stderr
    assert not database.exists()
    assert perlica("restore", backup, "-c", path).exit_code == 0
    assert database.is_file()


def test_two_processes_never_hold_one_state_directory(tmp_path: Path) -> None:
    with only_instance(tmp_path), pytest.raises(Misconfigured), only_instance(tmp_path):
        raise AssertionError("both hold it")


@pytest.mark.root
def test_the_lock_that_root_makes_can_be_opened_by_the_service(tmp_path: Path) -> None:
    state = tmp_path / "state"
    state.mkdir()
    os.chown(state, 4_321, 4_322)

    with only_instance(state):
        made = (state / "perlica.lock").stat()

    assert (made.st_uid, made.st_gid) == (4_321, 4_322)
