"""A daemon that writes down its milestones, and kills itself at the one that a file names.

`python tests/sandboxd/crashing.py ...` takes what `sandboxd` takes. SANDBOXD_TEST_MILESTONES names
a directory: `seen` collects milestones, `kill-at` holds the one to die at and is removed then;
`companion` may hold the id of a process that dies with it.
"""

import os
import signal
from pathlib import Path

from sandboxd.cli import main
from sandboxd.milestones import OBSERVERS, Milestone

DIRECTORY = Path(os.environ["SANDBOXD_TEST_MILESTONES"])


def observe(milestone: Milestone) -> None:
    with (DIRECTORY / "seen").open("a", encoding="ascii") as seen:
        seen.write(f"{milestone}\n")
    fatal = DIRECTORY / "kill-at"
    if fatal.exists() and fatal.read_text("ascii") == milestone:
        fatal.unlink()
        companion = DIRECTORY / "companion"
        if companion.exists():
            os.kill(int(companion.read_text("ascii")), signal.SIGKILL)
        os.kill(os.getpid(), signal.SIGKILL)


OBSERVERS.append(observe)
main(prog_name="sandboxd")
