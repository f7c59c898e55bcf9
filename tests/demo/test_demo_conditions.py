"""The demo says at once, on one line, what keeps it from starting."""

import os
import socket
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path

import pytest

from perlica.app.demo.conditions import DemoCannotStart, RealModel, find_real_model

ADDRESS = "https://model.example/v1"
CANNOT = 2


def _demo(folder: Path, *words: str, **variables: str) -> subprocess.CompletedProcess[str]:
    kept = {name: value for name, value in os.environ.items() if "PERLICA_MODEL" not in name}
    return subprocess.run(
        [sys.executable, "-m", "perlica.app.demo", "--state", str(folder / "demo"), *words],
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
        env={**kept, **variables},
    )


@pytest.mark.parametrize("missing", ["BASE_URL", "NAME", "KEY_FILE"])
def test_a_real_model_that_is_named_in_part_is_refused_with_what_is_missing(
    missing: str, tmp_path: Path
) -> None:
    (tmp_path / "key").write_text("a-key\n")
    named = {"BASE_URL": ADDRESS, "NAME": "m-1", "KEY_FILE": str(tmp_path / "key")}
    given = {f"PERLICA_MODEL_{key}": value for key, value in named.items() if key != missing}

    done = _demo(tmp_path, **given)

    assert done.returncode == CANNOT
    assert f"cannot start: PERLICA_MODEL_{missing} is not set" in done.stderr
    assert "Traceback" not in done.stderr
    assert not (tmp_path / "demo").exists()


def test_a_key_file_that_is_not_there_is_refused(tmp_path: Path) -> None:
    named = {
        "PERLICA_MODEL_BASE_URL": ADDRESS,
        "PERLICA_MODEL_NAME": "m-1",
        "PERLICA_MODEL_KEY_FILE": str(tmp_path / "nothing"),
    }

    with pytest.raises(DemoCannotStart, match="/nothing, which is no file"):
        find_real_model(named)


@pytest.mark.parametrize("environment", [{}, {"PERLICA_MODEL_NAME": ""}])
def test_without_any_variable_the_rehearsal_model_plays(environment: Mapping[str, str]) -> None:
    assert find_real_model(environment) is None


def test_all_variables_name_a_real_model(tmp_path: Path) -> None:
    key = tmp_path / "key"
    key.write_text("a-key\n")
    named = {
        "PERLICA_MODEL_BASE_URL": ADDRESS,
        "PERLICA_MODEL_NAME": "m-1",
        "PERLICA_MODEL_KEY_FILE": str(key),
    }

    assert find_real_model(named) == RealModel(url=ADDRESS, name="m-1", key_file=key)


@pytest.mark.parametrize("option", ["--port", "--console-port"])
def test_a_port_that_is_taken_is_told_on_one_line_with_the_option(
    option: str, tmp_path: Path
) -> None:
    other = "--console-port" if option == "--port" else "--port"
    with (
        socket.create_server(("127.0.0.1", 0)) as taken,
        socket.create_server(("127.0.0.1", 0)) as free,
    ):
        port, free_port = taken.getsockname()[1], free.getsockname()[1]
        free.close()
        done = _demo(tmp_path, option, str(port), other, str(free_port))

    told = [line for line in done.stderr.splitlines() if "cannot start" in line]
    assert done.returncode == CANNOT
    assert len(told) == 1
    assert f"cannot use port {port}" in told[0]
    assert f'make demo ARGS="{option} ' in told[0]
    assert "Traceback" not in done.stderr
    assert not (tmp_path / "demo").exists()
