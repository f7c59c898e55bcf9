"""What the command line says where it cannot work, and what it leaves on the disk."""

import os
import stat
import subprocess
import sys
from pathlib import Path

import pytest

from sandboxd.images.demo import build_demo_layout

ROOT = Path(__file__).parents[2]

UNFIT = 2
NOBODY = 65534
AS_NOBODY = (
    "-c",
    (
        "import os, sys, sandboxd.cli, sandboxd.images.catalog, sandboxd.service.daemon\n"
        "import sandboxd.service.recent\n"  # All is imported before: Python may lie in root's home.
        f"os.setgroups([]); os.setgid({NOBODY}); os.setuid({NOBODY})\n"
        "sandboxd.cli.main(prog_name='sandboxd')"
    ),
)


def _command(
    *words: str, program: tuple[str, ...] = ("-m", "sandboxd"), within: Path | None = None
) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, *program, *words],
        cwd=within,
        env={**os.environ, "PYTHONPATH": str(ROOT)},
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )


@pytest.mark.root
def test_without_root_the_daemon_says_so_in_two_lines(tmp_path: Path) -> None:
    done = _command("--state-dir", str(tmp_path / "state"), "serve", program=AS_NOBODY)

    assert done.returncode == UNFIT
    assert "needs root" in done.stderr
    assert "remedy: run it as root" in done.stderr
    assert "Traceback" not in done.stderr


@pytest.mark.root
def test_without_root_an_import_says_where_it_may_not_write(tmp_path: Path) -> None:
    layout = tmp_path / "layout"
    build_demo_layout(layout)
    subprocess.run(["chmod", "-R", "a+rX", str(layout)], check=True)
    words = ("--state-dir", "/var/lib/nobodys", "image", "import", ".")
    done = _command(*words, program=AS_NOBODY, within=layout)

    assert done.returncode == UNFIT
    assert "/var/lib/nobodys: Permission denied" in done.stderr
    assert "Traceback" not in done.stderr


@pytest.mark.parametrize("words", [("import", "/nonexistent"), ("list",), ("verify",)])
def test_what_reads_no_image_makes_no_state_directory(
    words: tuple[str, ...], tmp_path: Path
) -> None:
    state = tmp_path / "state"

    _command("--state-dir", str(state), "image", *words)

    assert not state.exists()


def test_an_import_makes_directories_for_root_alone(tmp_path: Path, needs_node: None) -> None:
    build_demo_layout(tmp_path / "layout")
    state = tmp_path / "lib" / "state"

    done = _command("--state-dir", str(state), "image", "import", str(tmp_path / "layout"))

    assert done.returncode == 0, done.stderr
    for directory in (state.parent, state, state / "images"):
        assert stat.S_IMODE(directory.stat().st_mode) == 0o700
