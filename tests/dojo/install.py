"""`python -m tests.dojo.install`: AgentDojo's suites, in a folder of their own.

Its metadata asks for the clients of half a dozen model providers, which its tasks and environments
do not need: so it is installed without dependencies, below build/, and nothing of it mixes with the
service's environment. In CI the test installs it by itself; at home it skips until somebody ran
this.
"""

import hashlib
import shutil
import subprocess
import sys
from pathlib import Path

LOCK = Path(__file__).with_name("agentdojo.txt")
PLACE = Path(__file__).parents[2] / "build" / "agentdojo"
_MARK = "installed"
_WITHIN_S = 300


def find() -> Path | None:
    """The folder to put on the path, None where it is not installed or another lock was."""
    mark = PLACE / _MARK
    return PLACE if mark.is_file() and mark.read_text() == _digest() else None


def install() -> Path:
    """Install what the lock file names; the folder to put on the path."""
    shutil.rmtree(PLACE, ignore_errors=True)
    words = [sys.executable, "-m", "pip", "install", "--quiet", "--disable-pip-version-check"]
    words += ["--no-deps", "--require-hashes", "--target", str(PLACE), "-r", str(LOCK)]
    subprocess.run(words, check=True, timeout=_WITHIN_S, stdin=subprocess.DEVNULL)
    (PLACE / _MARK).write_text(_digest())
    return PLACE


def _digest() -> str:
    return hashlib.sha256(LOCK.read_bytes()).hexdigest()


if __name__ == "__main__":
    print(install())
