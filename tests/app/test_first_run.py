"""What an operator meets first: the untouched example, a state directory that is not there."""

import subprocess
import sys
from pathlib import Path

import pytest

from perlica.app.config import ConfigInvalid, parse_config
from perlica.app.config.example import write_example
from tests.app.configs import write_config, write_private
from tests.app.test_command_line import perlica

EX_CONFIG = 78
INVENTED = {"napcat.group_id", "napcat.self_id", "members.owners"}


def test_the_untouched_example_is_refused_for_every_number_that_is_invented() -> None:
    with pytest.raises(ConfigInvalid) as caught:
        parse_config(write_example())

    assert {problem.key for problem in caught.value.problems} == INVENTED
    assert {problem.code for problem in caught.value.problems} == {"number_of_example"}


def test_the_untouched_example_of_a_cluster_is_refused_too() -> None:
    example = Path(__file__).parents[2] / "k8s/example/perlica.toml"

    with pytest.raises(ConfigInvalid) as caught:
        parse_config(example.read_text("utf-8"))

    assert {problem.key for problem in caught.value.problems} == INVENTED | {"members.members"}


@pytest.mark.parametrize(
    ("language", "said"),
    [("zh", "还是示例里的占位 0"), ("en", "is still the 0 of the example")],
)
def test_a_check_of_the_untouched_example_says_so(language: str, said: str, tmp_path: Path) -> None:
    path = write_private(tmp_path / "perlica.toml", write_example())

    checked = perlica("check-config", "--lang", language, path)

    assert checked.exit_code == 2
    assert checked.output.count(said) == len(INVENTED)


def test_a_run_with_the_untouched_example_ends_with_78(tmp_path: Path) -> None:
    ended = _run(write_private(tmp_path / "perlica.toml", write_example()))

    assert ended.returncode == EX_CONFIG
    assert "members.owners" in ended.stderr


@pytest.mark.parametrize("below", ["file", "file/state"])
def test_a_state_directory_that_cannot_be_made_ends_a_run_with_78_and_one_line(
    below: str, tmp_path: Path
) -> None:
    path = write_config(tmp_path)
    (tmp_path / "file").write_text("")
    write_private(path, path.read_text().replace(f"{tmp_path}/state", f"{tmp_path}/{below}"))

    ended = _run(path)

    assert ended.returncode == EX_CONFIG
    (line,) = ended.stderr.splitlines()
    assert line.startswith("perlica: service.state_dir：")
    assert f"install -d -m 0700 -o 运行服务的用户 {tmp_path}/{below}" in line


def _run(path: Path) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-m", "perlica.app.cli", "run", "-c", str(path)],
        capture_output=True,
        text=True,
        check=False,
        timeout=50,
    )
