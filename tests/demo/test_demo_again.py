"""The unattended demo holds again and again in one checkout, also after a run that was killed."""

import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from tests.sandboxd.conftest import needs_node

__all__ = ["needs_node"]

pytestmark = [pytest.mark.root, pytest.mark.timeout(400)]
_WITHIN_S = 150


@contextmanager
def _script(folder: Path) -> Iterator[subprocess.Popen[str]]:
    """A run of the script that is over when the block is."""
    command = [sys.executable, "-m", "perlica.app.demo", "--script", "--state", str(folder)]
    with subprocess.Popen(
        command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True
    ) as process:
        try:
            yield process
        finally:
            process.terminate()


def _end_of(process: subprocess.Popen[str]) -> str:
    said, _ = process.communicate(timeout=_WITHIN_S)
    assert process.returncode == os.EX_OK, said
    return said.splitlines()[-1]


def test_the_script_holds_after_a_run_that_was_killed_and_beside_another_one(
    needs_node: None, tmp_path: Path
) -> None:
    with _script(tmp_path) as killed:
        assert killed.stdout is not None
        assert "true output" in killed.stdout.readline()
        os.kill(killed.pid, signal.SIGKILL)
        killed.wait(_WITHIN_S)

    with _script(tmp_path) as one, _script(tmp_path) as two:
        ends = [_end_of(one), _end_of(two)]

    assert all("the whole demo held" in end for end in ends)
    with _script(tmp_path) as again:
        assert "the whole demo held" in _end_of(again)
    assert list(tmp_path.iterdir()) == []
