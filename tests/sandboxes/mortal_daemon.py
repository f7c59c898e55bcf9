"""A node daemon that notes its milestones while a file says so, and dies at the one that is named.

`python tests/sandboxes/mortal_daemon.py ...` takes what `sandboxd` takes. SANDBOXD_TEST_MILESTONES
names a directory: while `armed` is there, `seen` collects milestones, each with how many times it
was reached; `kill-at` holds the one to die at, once.
"""

import os
import signal
import threading
from collections import Counter
from pathlib import Path

from sandboxd.cli import main
from sandboxd.milestones import OBSERVERS, Milestone

DIRECTORY = Path(os.environ["SANDBOXD_TEST_MILESTONES"])
_lock = threading.Lock()


def observe(milestone: Milestone) -> None:
    """Note it; die if it is the one."""
    if not (DIRECTORY / "armed").exists():
        return
    with _lock:
        seen = DIRECTORY / "seen"
        before = seen.read_text("ascii").splitlines() if seen.exists() else []
        counts = Counter(line.rpartition(" #")[0] for line in before)
        name = f"{milestone} #{counts[milestone] + 1}"
        with seen.open("a", encoding="ascii") as file:
            file.write(f"{name}\n")
        fatal = DIRECTORY / "kill-at"
        if fatal.exists() and fatal.read_text("ascii") == name:
            fatal.unlink()
            os.kill(os.getpid(), signal.SIGKILL)


OBSERVERS.append(observe)
main(prog_name="sandboxd")
