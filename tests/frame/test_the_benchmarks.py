"""A figure is written down with its promise, and a missing figure is never taken for a good one."""

import io
import json
import subprocess
import sys
from pathlib import Path

import pytest
from pydantic import ValidationError
from rich.console import Console

from benchmarks.table import Row, build_table, merge_rows, print_table
from tests.frame.checkout import ROOT

GOOD = """
def rows():
    return [{"name": "speed_ms", "value": 2, "unit": "ms", "peer_or_floor": 1, "ratio": 2.0,
             "target": 30, "met": True}]
"""
MISSED = GOOD.replace("True", "False").replace("speed_ms", "size_mib")
UNABLE = """
def rows():
    raise FileNotFoundError("crun is not installed")
"""


@pytest.fixture
def bench(tmp_path: Path) -> Path:
    """A folder with our frame and no measurements yet."""
    folder = tmp_path / "benchmarks"
    folder.mkdir()
    for name in ("__init__.py", "__main__.py", "table.py"):
        (folder / name).symlink_to(ROOT / "benchmarks" / name)
    return tmp_path


def _run(bench: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", "benchmarks", *arguments]
    return subprocess.run(
        command, cwd=bench, capture_output=True, text=True, timeout=30, check=False
    )


def _figures(bench: Path) -> dict[str, object]:
    rows = json.loads((bench / "build" / "bench.json").read_text(encoding="utf-8"))
    return {row["name"]: row["value"] for row in rows}


def test_a_promise_that_holds_is_printed_and_written(bench: Path) -> None:
    (bench / "benchmarks" / "speed.py").write_text(GOOD, encoding="utf-8")

    run = _run(bench)

    assert run.returncode == 0, run.stdout + run.stderr
    assert "speed_ms" in run.stdout
    assert _figures(bench) == {"speed_ms": 2}


def test_a_missed_promise_fails_the_run(bench: Path) -> None:
    (bench / "benchmarks" / "size.py").write_text(MISSED, encoding="utf-8")

    run = _run(bench)

    assert run.returncode == 1
    assert "Not as promised: size_mib" in run.stdout


def test_a_figure_that_could_not_be_measured_says_why_and_fails_the_run(bench: Path) -> None:
    (bench / "benchmarks" / "exec.py").write_text(UNABLE, encoding="utf-8")
    (bench / "benchmarks" / "speed.py").write_text(GOOD, encoding="utf-8")

    run = _run(bench)

    assert run.returncode == 1
    (row,) = (
        row
        for row in json.loads((bench / "build" / "bench.json").read_text(encoding="utf-8"))
        if row["name"] == "exec"
    )
    assert (row["value"], row["why"]) == (None, "FileNotFoundError: crun is not installed")
    assert _figures(bench)["speed_ms"] == 2


def test_one_module_can_be_measured_without_losing_the_others_figures(bench: Path) -> None:
    (bench / "benchmarks" / "speed.py").write_text(GOOD, encoding="utf-8")
    (bench / "benchmarks" / "size.py").write_text(MISSED, encoding="utf-8")
    _run(bench)

    run = _run(bench, "--only", "speed")

    assert run.returncode == 0
    assert "size_mib" not in run.stdout
    assert set(_figures(bench)) == {"speed_ms", "size_mib"}


@pytest.mark.parametrize(
    "fields",
    [
        {"name": "empty"},
        {"name": "both", "value": 1, "why": "not measured"},
        {"name": "unjudged", "value": 1, "target": 2},
        {"name": "unpromised", "value": 1, "met": True},
        {"name": "stranger", "value": 1, "comment": "x"},
    ],
)
def test_a_row_that_hides_something_is_refused(fields: dict[str, object]) -> None:
    with pytest.raises(ValidationError):
        Row.model_validate(fields)


def test_a_newer_figure_replaces_the_older() -> None:
    older = [Row(name="a", value=1), Row(name="b", value=1)]

    merged = merge_rows(older, [Row(name="a", value=2)])

    assert {row.name: row.value for row in merged} == {"a": 2, "b": 1}


def test_the_table_has_a_line_for_each_row() -> None:
    assert build_table([Row(name="a", value=1.5), Row(name="b", why="no root")]).row_count == 2


def test_a_table_that_goes_into_a_file_has_whole_names_and_one_line_for_each_figure() -> None:
    why = "FileNotFoundError: crun is not installed on this machine, nor is any other runtime"
    names = [f"time_until_the_first_word_of_an_answer_under_load_{at}_ms" for at in range(3)]
    rows = [Row(name=names[0], why=why), *(Row(name=n, value=1, unit="ms") for n in names[1:])]
    written = io.StringIO()

    print_table(build_table(rows), Console(file=written, width=80))

    lines = written.getvalue().splitlines()
    for name in names:
        assert sum(name in line for line in lines) == 1
    assert any(why in line for line in lines)
    assert sum("│" in line for line in lines) == len(rows)
